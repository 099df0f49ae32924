#include <algorithm>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/phase_clock.hpp>

namespace mgpu {

PhaseClock::PhaseClock(double elapsed_s, std::string_view phase)
    : birth_(Clock::now() -
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(elapsed_s))),
      last_s_(0.0),
      stack_{0},
      totals_{{std::string(phase), 0.0, 1}},
      slices_(1, std::vector<double>(kMaxSlices)) {
  show_phase();
}

double PhaseClock::elapsed_s() const {
  return std::chrono::duration<double>(Clock::now() - birth_).count();
}

std::size_t PhaseClock::index_of(std::string_view phase) {
  const auto found = std::find_if(totals_.begin(), totals_.end(),
                                  [&](const Total& total) { return total.phase == phase; });
  if (found != totals_.end()) return static_cast<std::size_t>(found - totals_.begin());
  totals_.push_back({std::string(phase), 0.0, 0});
  slices_.emplace_back(kMaxSlices);
  return totals_.size() - 1;
}

void PhaseClock::charge(double now_s) {
  totals_[stack_.back()].seconds += now_s - last_s_;
  add_to_slices(stack_.back(), last_s_, now_s);
  last_s_ = now_s;
}

void PhaseClock::add_to_slices(std::size_t phase, double begin_s, double end_s) {
  while (end_s >= slice_s_ * static_cast<double>(kMaxSlices))
    merge_slices();
  for (auto i = static_cast<std::size_t>(begin_s / slice_s_); i < kMaxSlices; ++i) {
    const double slice_begin_s = slice_s_ * static_cast<double>(i);
    const double inside_s =
        std::min(end_s, slice_begin_s + slice_s_) - std::max(begin_s, slice_begin_s);
    if (inside_s <= 0 && slice_begin_s >= end_s) return;
    slices_[phase][i] += std::max(inside_s, 0.0);
    num_slices_ = std::max(num_slices_, i + 1);
  }
}

void PhaseClock::merge_slices() {
  for (std::vector<double>& slices : slices_) {
    for (std::size_t i = 0; i < kMaxSlices / 2; ++i)
      slices[i] = slices[2 * i] + slices[2 * i + 1];
    std::fill(slices.begin() + kMaxSlices / 2, slices.end(), 0.0);
  }
  num_slices_ = (num_slices_ + 1) / 2;
  slice_s_ *= 2;
}

PhaseClock::Scope PhaseClock::enter(std::string_view phase) {
  charge(elapsed_s());
  stack_.push_back(index_of(phase));
  ++totals_[stack_.back()].calls;
  show_phase();
  return Scope(this);
}

void PhaseClock::leave() {
  charge(elapsed_s());
  stack_.pop_back();
  show_phase();
}

void PhaseClock::show_phase() const {
  activity().phase.set(totals_[stack_.back()].phase);
  mark_progress();
}

std::vector<PhaseClock::Total> PhaseClock::totals() const {
  std::vector<Total> now = totals_;
  now[stack_.back()].seconds += elapsed_s() - last_s_;
  return now;
}

}  // namespace mgpu
