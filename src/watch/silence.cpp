#include "silence.hpp"

#include <algorithm>

namespace mgpu::watch {

Silence::Silence(std::size_t ranks, std::chrono::duration<double> between_checks)
    : longest_step_s_(2 * between_checks.count()), ranks_(ranks) {}

void Silence::update(std::span<Slot> slots, Clock::time_point now) {
  const std::chrono::duration<double> step = now - last_check_;
  last_check_ = now;
  now_s_ += std::clamp(step.count(), 0.0, longest_step_s_);
  for (std::size_t r = 0; r < slots.size(); ++r) {
    Rank& rank = ranks_[r];
    const std::uint64_t marks = slots[r].activity.marks.load(std::memory_order_relaxed);
    const std::uint64_t beats = slots[r].beats.load(std::memory_order_relaxed);
    if (marks != rank.marks) rank.progress_s = now_s_;
    if (beats != rank.beats) rank.beat_s = now_s_;
    rank.marks = marks;
    rank.beats = beats;
  }
}

}  // namespace mgpu::watch
