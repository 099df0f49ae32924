#pragma once

#include <cstdint>
#include <string>

#include <mgpu/store/results/small_table.hpp>

#include "recipes/train_state.hpp"

namespace mgpu::recipes {

/// Returns table /metrics/train for the first `steps` steps: loss, accuracy, learning rate,
/// gradient norm, and those cross-entropies and further numbers that `curves` has.
store::SmallTable train_table(const TrainCurves& curves, std::int64_t steps,
                              const std::string& loss_unit = "nats");

}  // namespace mgpu::recipes
