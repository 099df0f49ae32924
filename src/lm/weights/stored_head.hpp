#pragma once

#include <string>

#include <mgpu/formats/weight_files.hpp>
#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// Finds a tensor with or without the prefix of the base model ("transformer.", "model."). Returns
/// nullptr if the files do not have it.
const formats::StoredTensor* find_tensor(const formats::WeightFiles& files,
                                         const std::string& name);

/// Returns where the head of a model with `config` is in its weights, which is `as_configured`
/// unless config.json ties the head. Values are compared as float32, up to the first difference.
StoredHead find_stored_head(const formats::WeightFiles& files, const LmConfig& config);

/// Opens the weights of `folder` if config.json ties the head, and calls find_stored_head(). A
/// folder without safetensors files has StoredHead::as_configured.
/// Errors: those of WeightFiles.
StoredHead find_stored_head(const fs::path& folder, const LmConfig& config);

}  // namespace mgpu::lm
