#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

#include "loss.hpp"

namespace mgpu::recipes {

/// Adds the keys reward_model.*.
void add_reward_model_keys(KeyTable& table);

/// Returns whether a key reward_model.* differs from its default.
bool has_reward_model_keys(const Config& config);

/// Reads the keys reward_model.*.
RewardModelSettings read_reward_model_settings(const Config& config);

}  // namespace mgpu::recipes
