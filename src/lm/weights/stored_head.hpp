#pragma once

#include <string>

#include <mgpu/formats/weight_files.hpp>
#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// Finds a tensor by its name, else by its name without the prefix of the base model
/// ("transformer.", "model."). Returns nullptr if the files do not have it.
const formats::StoredTensor* find_tensor(const formats::WeightFiles& files,
                                         const std::string& name);

/// Finds out which stored tensor is the vocabulary head. The result is `as_configured` unless
/// config.json ties the head to the embedding. If head and embedding are both stored, the function
/// compares their values as float32, up to the first difference.
StoredHead find_stored_head(const formats::WeightFiles& files, const LmConfig& config);

/// Returns the result of the overload above for the weights in `folder`. Opens them only if
/// config.json ties the head. Returns `as_configured` for a folder without safetensors files.
/// Errors: those of WeightFiles.
StoredHead find_stored_head(const fs::path& folder, const LmConfig& config);

}  // namespace mgpu::lm
