#pragma once

#include <map>
#include <string>

#include <mgpu/base/file_io.hpp>
#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// Names and contents of the files of a model folder other than its weights.
using CompanionFiles = std::map<std::string, std::string>;

/// Returns the files of `folder` that a trained copy of its model needs: config.json,
/// generation_config.json, tokenizer and chat template. Trained weights are written in float32, so
/// the returned config.json has `dtype` float32. All fields of config.json that do not concern the
/// number format are kept, even if this program ignores them. Together with weights that have the
/// tensor names of the ParameterArena, these files form a folder for
/// AutoModelForCausalLM.from_pretrained and LanguageModel::open().
///
/// Errors: Failure E603 (no config.json, or a file that is unreadable or too large), E622
///         (config.json is a Git LFS pointer), E623 (config.json is not a JSON object).
CompanionFiles companion_files(const fs::path& folder);

/// Sets `tie_word_embeddings` of config.json in `files` to false if LmConfig::stored_head of
/// `config` is StoredHead::untied.
void set_stored_head(const LmConfig& config, CompanionFiles& files);

}  // namespace mgpu::lm
