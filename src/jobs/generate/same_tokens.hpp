#pragma once

#include <filesystem>
#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu::jobs {

/// A model, such as a guide, that reads the tokens which model.path generates. The texts are for
/// error messages about this model.
struct TokenReader {
  std::string key{};               // "generate.guide.path"
  std::filesystem::path folder{};  // the value of the key
  std::string help{};              // what the user can give instead
};

/// Checks that the model in reader.folder has the same tokenizer as the model in folder `model`,
/// and a vocabulary that is not smaller. It is no error if both folders lack a tokenizer, because
/// prompts can be token ids. Does nothing if `model` has no config.json, because
/// rows::check_model_config() reports the missing file.
/// Ranks:  local; one rank calls this function.
/// Errors: Failure E107 (exit 78); those of reading both folders.
void check_same_tokens(const Config& config, const TokenReader& reader,
                       const std::filesystem::path& model);

}  // namespace mgpu::jobs
