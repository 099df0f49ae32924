#pragma once

#include <cstdint>

namespace mgpu::train {

enum class LrShape : std::uint8_t { constant, linear, cosine };

/// The learning rate of each optimizer step. It never depends on the number of ranks.
struct LrSchedule {
  LrShape shape = LrShape::cosine;
  double peak = 3e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t max_steps = 1;

  /// Returns the learning rate of step `step`, counted from 0. During the warm-up, the rate is
  /// (step + 1) / warmup_steps of the peak. After the warm-up, it stays at the peak
  /// (LrShape::constant), or falls linearly or along half a cosine. The falling rate is 0 from
  /// max_steps on.
  double at(std::int64_t step) const;
};

}  // namespace mgpu::train
