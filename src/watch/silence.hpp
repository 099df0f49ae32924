#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared_state.hpp"

namespace mgpu::watch {

/// Measures two times for each rank: the time since its last sign of progress, and the time since
/// the last heartbeat of its watchdog thread.
///
/// Both times are measured on a clock that advances only in update(), by at most twice
/// `between_checks` per call. So if this process is suspended or its core is overloaded, other
/// ranks do not seem silent.
class Silence {
public:
  using Clock = std::chrono::steady_clock;

  Silence(std::size_t ranks, std::chrono::duration<double> between_checks);

  /// Compares the ranks' counters in `slots` with those of the last call. Call it once per check.
  void update(std::span<Slot> slots, Clock::time_point now = Clock::now());

  double now_s() const { return now_s_; }
  double progress_s(std::size_t rank) const { return now_s_ - ranks_[rank].progress_s; }
  double beat_s(std::size_t rank) const { return now_s_ - ranks_[rank].beat_s; }

private:
  struct Rank {
    std::uint64_t marks = 0;
    std::uint64_t beats = 0;
    double progress_s = 0.0;  // value of now_s_ when `marks` last changed
    double beat_s = 0.0;      // value of now_s_ when `beats` last changed
  };

  double longest_step_s_;
  double now_s_ = 0.0;
  Clock::time_point last_check_ = Clock::now();
  std::vector<Rank> ranks_;
};

}  // namespace mgpu::watch
