#include <algorithm>

#include <mgpu/base/phase_clock.hpp>

namespace mgpu {

PhaseClock::PhaseClock(double elapsed_s)
    : birth_(Clock::now() -
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(elapsed_s))),
      last_s_(0.0),
      stack_{0},
      totals_{{"other", 0.0, 1}} {}

double PhaseClock::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - birth_).count();
}

std::size_t PhaseClock::index_of(std::string_view phase) {
  const auto found = std::find_if(totals_.begin(), totals_.end(),
                                  [&](const Total& total) { return total.phase == phase; });
  if (found != totals_.end()) return static_cast<std::size_t>(found - totals_.begin());
  totals_.push_back({std::string(phase), 0.0, 0});
  return totals_.size() - 1;
}

void PhaseClock::charge(double now_s) {
  const std::size_t phase = stack_.back();
  totals_[phase].seconds += now_s - last_s_;
  const bool extends = !intervals_.empty() && intervals_.back().phase == phase &&
                       last_s_ - intervals_.back().end_s < grain_s_;
  if (extends) {
    intervals_.back().end_s = now_s;
  } else if (now_s - last_s_ >= grain_s_) {
    intervals_.push_back({phase, last_s_, now_s});
  }
  if (intervals_.size() >= kMaxIntervals) {
    grain_s_ *= 2;
    std::erase_if(intervals_, [&](const Interval& i) { return i.end_s - i.begin_s < grain_s_; });
  }
  last_s_ = now_s;
}

PhaseClock::Scope PhaseClock::enter(std::string_view phase) {
  charge(elapsed_s());
  stack_.push_back(index_of(phase));
  ++totals_[stack_.back()].calls;
  return Scope(this);
}

void PhaseClock::leave() {
  charge(elapsed_s());
  stack_.pop_back();
}

std::vector<PhaseClock::Total> PhaseClock::totals() const {
  std::vector<Total> now = totals_;
  now[stack_.back()].seconds += elapsed_s() - last_s_;
  return now;
}

}  // namespace mgpu
