#include <algorithm>
#include <cmath>
#include <numbers>

#include <mgpu/train/lr_schedule.hpp>

namespace mgpu::train {

double LrSchedule::at(std::int64_t step) const {
  if (step < warmup_steps)
    return peak * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  if (shape == LrShape::constant) return peak;
  const auto span = static_cast<double>(std::max<std::int64_t>(max_steps - warmup_steps, 1));
  const double done = std::min(static_cast<double>(step - warmup_steps) / span, 1.0);
  if (shape == LrShape::linear) return peak * (1.0 - done);
  return peak * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

}  // namespace mgpu::train
