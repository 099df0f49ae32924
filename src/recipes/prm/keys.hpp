#pragma once

#include <filesystem>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

#include "loss.hpp"

namespace mgpu::recipes {

/// Adds the keys prm.*.
void add_prm_keys(KeyTable& table);

/// Returns whether the recipe learns latent states (prm.input=latents).
bool learns_latents(const Config& config);

/// Refuses keys that only latent states use.
/// Errors: Failure E124 (exit 78).
void refuse_latent_keys(const Config& config);

/// Returns whether a key prm.* differs from its default.
bool has_prm_keys(const Config& config);

/// Checks the keys of recipe `prm`.
/// Errors: one Failure (exit 78) about keys that contradict each other or have no effect.
void check_prm_keys(const Config& config);

/// Reads the keys prm.*, and chooses the token at which the model judges a step. This is the last
/// token of the step if data.path is a result file of job collect. Otherwise it is the last token
/// of the separator after the step.
PrmSettings read_prm_settings(const Config& config);

/// Returns whether `path` is treated as a result file of job collect, because its extension is .h5
/// or .hdf5.
bool is_tree_file(const std::filesystem::path& path);

}  // namespace mgpu::recipes
