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
/// Errors: Failure E124 (exit 78) for dpo.label_smoothing without dpo.loss=robust; Failure E107
///         (exit 78) for dpo.loss=robust without dpo.label_smoothing.
void check_dpo_keys(const Config& config);

/// Reads the keys dpo.*.
DpoSettings read_dpo_settings(const Config& config);

}  // namespace mgpu::recipes
