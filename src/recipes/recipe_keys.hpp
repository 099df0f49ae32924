#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::recipes {

/// What job train trains.
enum class Recipe { distillation, language_model };

/// Refuses the keys that only the other recipe reads.
///
/// Errors: Failure E124 (exit 78) at the first of them in the table's order.
void refuse_other_keys(const Config& config, Recipe recipe);

}  // namespace mgpu::recipes
