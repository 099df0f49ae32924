#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mgpu::report {

/// The times at which steps were done, at even intervals that double as the run gets longer.
class StepPace {
public:
  static constexpr std::size_t kMaxMarks = 2048;

  struct Mark {
    std::int64_t steps = 0;  // done
    double time_s = 0.0;
  };

  /// Call it once before the first step, then after each.
  ///
  /// Units:  seconds, on any clock that does not go back.
  void mark(std::int64_t steps, double time_s);

  const std::vector<Mark>& marks() const { return marks_; }

private:
  std::int64_t every_ = 1;
  std::vector<Mark> marks_;
};

}  // namespace mgpu::report
