#pragma once

#include <cstdint>
#include <string>

#include <mgpu/store/results/small_table.hpp>

#include "recipes/train_state.hpp"

namespace mgpu::recipes {

/// Returns table /metrics/train for the first `steps` steps: loss, accuracy, learning rate and
/// gradient norm. If `curves` has cross-entropies or step_values(), adds columns for them.
store::SmallTable train_table(const TrainCurves& curves, std::int64_t steps,
                              const std::string& loss_unit = "nats");

}  // namespace mgpu::recipes
