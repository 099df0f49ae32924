#pragma once

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

#include "loss.hpp"

namespace mgpu::recipes {

/// Adds the keys kto.*.
void add_kto_keys(KeyTable& table);

/// Returns whether a key kto.* differs from its default.
bool has_kto_keys(const Config& config);

/// Checks the keys of recipe `kto`.
/// Errors: Failure E107 (exit 78) if the weights of good and of bad completions are both 0.
void check_kto_keys(const Config& config);

/// Reads the keys kto.*.
KtoSettings read_kto_settings(const Config& config);

}  // namespace mgpu::recipes
