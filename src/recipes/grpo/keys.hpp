#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

#include "settings.hpp"

namespace mgpu::recipes {

/// Adds the keys grpo.*.
void add_grpo_keys(KeyTable& table);

/// Returns whether a key grpo.* differs from its default.
bool has_grpo_keys(const Config& config);

/// Checks the keys grpo.* and reward.*, and that keys data.* and train.* fit the recipe.
/// Errors: one Failure (exit 78) about keys that are missing, contradict each other or have no
///         effect.
void check_grpo_keys(const Config& config);

/// Reads the keys grpo.* and reward.*, the seed, and the shape of the global batch.
GrpoSettings read_grpo_settings(const Config& config);

}  // namespace mgpu::recipes
