#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared_state.hpp"

namespace mgpu::watch {

/// Measures for how long each slot shows no progress, and no heartbeat of its watchdog thread.
///
/// Time counts only while this thread runs: a gap between two checks counts as at most two
/// intervals. So neither a suspended node nor an overloaded core makes ranks seem silent.
class Silence {
public:
  using Clock = std::chrono::steady_clock;

  Silence(std::size_t ranks, std::chrono::duration<double> between_checks);

  void update(std::span<Slot> slots, Clock::time_point now = Clock::now());

  double now_s() const { return now_s_; }
  double progress_s(std::size_t rank) const { return now_s_ - ranks_[rank].progress_s; }
  double beat_s(std::size_t rank) const { return now_s_ - ranks_[rank].beat_s; }

private:
  struct Rank {
    std::uint64_t marks = 0;
    std::uint64_t beats = 0;
    double progress_s = 0.0;  // time of the last change of `marks`
    double beat_s = 0.0;
  };

  double longest_step_s_;
  double now_s_ = 0.0;
  Clock::time_point last_check_ = Clock::now();
  std::vector<Rank> ranks_;
};

}  // namespace mgpu::watch
