#include <mgpu/report/step_pace.hpp>

namespace mgpu::report {

void StepPace::mark(std::int64_t steps, double time_s) {
  if (!marks_.empty() && (steps - marks_.front().steps) % every_ != 0) return;
  marks_.push_back({steps, time_s});
  if (marks_.size() < kMaxMarks) return;
  every_ *= 2;
  const std::int64_t first = marks_.front().steps;
  std::erase_if(marks_, [&](const Mark& mark) { return (mark.steps - first) % every_ != 0; });
}

}  // namespace mgpu::report
