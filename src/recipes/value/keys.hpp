#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

#include "loss.hpp"

namespace mgpu::recipes {

/// Adds the keys value.*.
void add_value_keys(KeyTable& table);

/// Returns whether a key value.* differs from its default.
bool has_value_keys(const Config& config);

/// Checks the keys of recipe `value`.
/// Errors: one Failure (exit 78) about keys that contradict each other or have no effect. It
///         reports at most one problem about each of these: the loss, the atoms, the preferences,
///         equal labels and the template.
void check_value_keys(const Config& config);

/// Reads the keys value.*.
ValueSettings read_value_settings(const Config& config);

}  // namespace mgpu::recipes
