#pragma once

#include <map>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu::lm {

/// Files beside the weights of a model folder, name and content.
using CompanionFiles = std::map<std::string, std::string>;

/// Those of `folder` that a model with the same config, vocabulary and template needs: config.json
/// and generation_config.json, tokenizer and chat template. config.json says float32, the type in
/// which trained weights are written; else it stays as it is, with what only others understand.
/// Beside weights under the names of the arena they make a folder that
/// AutoModelForCausalLM.from_pretrained opens, and LanguageModel::open.
///
/// Errors: Failure E603 (no config.json), E622, E623 (not a JSON object).
CompanionFiles companion_files(const fs::path& folder);

}  // namespace mgpu::lm
