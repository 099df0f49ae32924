#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mgpu::report {

/// Records when the steps of a loop were done. It keeps a mark for every n-th step. When it has
/// kMaxMarks marks, it doubles n and drops every second mark.
class StepPace {
public:
  static constexpr std::size_t kMaxMarks = 2048;

  struct Mark {
    std::int64_t steps = 0;  // how many steps were done
    double time_s = 0.0;
  };

  /// Records that `steps` steps are done. Call it once before the first step, then after each step.
  ///
  /// Units:  seconds, on any clock that does not go back.
  void mark(std::int64_t steps, double time_s);

  const std::vector<Mark>& marks() const { return marks_; }

private:
  std::int64_t every_ = 1;
  std::vector<Mark> marks_;
};

}  // namespace mgpu::report
