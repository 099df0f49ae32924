#pragma once

#include <cstdint>
#include <string>

#include <mgpu/store/results/small_table.hpp>

#include "recipes/train_state.hpp"

namespace mgpu::recipes {

/// Returns table /metrics/train: loss, accuracy, learning rate, gradient norm and the further
/// numbers of `curves` for the first `steps` steps.
store::SmallTable train_table(const TrainCurves& curves, std::int64_t steps,
                              const std::string& loss_unit = "nats");

}  // namespace mgpu::recipes
