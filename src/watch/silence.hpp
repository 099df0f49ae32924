#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "watch_page.hpp"

namespace mgpu::watch {

/// For how long each slot has shown no sign of progress, and no beat of its watchdog thread.
///
/// Time counts only while this thread runs: a step of it is at most two looks long. So neither a
/// node that was suspended nor a core that is shared by many makes ranks silent.
class Silence {
public:
  using Clock = std::chrono::steady_clock;

  Silence(std::size_t ranks, std::chrono::duration<double> between_looks);

  void look(std::span<Slot> slots, Clock::time_point now = Clock::now());

  double now_s() const { return now_s_; }
  double progress_s(std::size_t rank) const { return now_s_ - ranks_[rank].progress_s; }
  double beat_s(std::size_t rank) const { return now_s_ - ranks_[rank].beat_s; }

private:
  struct Rank {
    std::uint64_t marks = 0;
    std::uint64_t beats = 0;
    double progress_s = 0.0;  // when marks changed last
    double beat_s = 0.0;
  };

  double longest_step_s_;
  double now_s_ = 0.0;
  Clock::time_point last_look_ = Clock::now();
  std::vector<Rank> ranks_;
};

}  // namespace mgpu::watch
