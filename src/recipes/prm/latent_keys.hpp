#pragma once

#include <mgpu/config/config.hpp>

#include "latent_task.hpp"

namespace mgpu::recipes {

/// Returns the settings of recipe prm for latent states.
/// Errors: those of read_loop_settings().
LatentSettings read_latent_settings(const Config& config);

/// Refuses keys that have no effect with latent states, or that need text steps. Also refuses a
/// data.path that is null, or that names no result file of job collect.
/// Errors: Failure (exit 78) E107 or E124.
void check_latent_keys(const Config& config);

}  // namespace mgpu::recipes
