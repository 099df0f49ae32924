#pragma once

#include <string>

#include <mgpu/formats/weight_files.hpp>
#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// Finds a tensor by its name. If the files lack this name, finds the tensor by the name without
/// the prefix of the base model ("transformer.", "model."); kHeadName has no such prefix. Returns
/// nullptr if the files have no tensor of either name.
const formats::StoredTensor* find_tensor(const formats::WeightFiles& files,
                                         const std::string& name);

/// Returns which matrix is the vocabulary head (StoredHead). If config.json does not tie the head
/// to the embedding, or the files have no head, the result is `as_configured`. If head and
/// embedding are both stored, the function compares their values as float32.
StoredHead find_stored_head(const formats::WeightFiles& files, const LmConfig& config);

/// Does the same as find_stored_head(files, config), for the weights in `folder`. Opens the weights
/// only if config.json ties the head. Returns `as_configured` for a folder without safetensors
/// files.
/// Errors: those of WeightFiles.
StoredHead find_stored_head(const fs::path& folder, const LmConfig& config);

}  // namespace mgpu::lm
