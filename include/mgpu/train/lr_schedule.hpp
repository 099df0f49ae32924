#pragma once

#include <cstdint>

namespace mgpu::train {

enum class LrShape : std::uint8_t { constant, linear, cosine };

/// Learning rate by optimizer step: never depends on the number of ranks.
struct LrSchedule {
  LrShape shape = LrShape::cosine;
  double peak = 3e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t max_steps = 1;

  /// Rate of step 0, 1, ...: (step + 1) / warmup_steps of the peak while warming up, then
  /// constant, or down to 0 at max_steps in a line or half a cosine. From max_steps on: the
  /// last value (constant: the peak; else 0).
  double at(std::int64_t step) const;
};

}  // namespace mgpu::train
