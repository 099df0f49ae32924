#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

#include "loss.hpp"

namespace mgpu::recipes {

/// Adds the keys dpo.*.
void add_dpo_keys(KeyTable& table);

/// Returns whether a key dpo.* differs from its default.
bool has_dpo_keys(const Config& config);

/// Checks the keys of recipe `dpo`.
/// Errors: one Failure (exit 78) with all keys that have no effect.
void check_dpo_keys(const Config& config);

/// Reads the keys dpo.*.
DpoSettings read_dpo_settings(const Config& config);

}  // namespace mgpu::recipes
