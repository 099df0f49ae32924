#pragma once

#include <filesystem>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/run/file_check.hpp>

namespace mgpu::rows {

/// Checks that `folder`, the value of `key`, exists and has a config.json. This is enough for a dry
/// run (--plan), which needs no weights. Other runs call check_model_folder().
/// Ranks:  local; one rank calls this function.
/// Errors: Failure E603 (exit 66) that points at the key. Its help has the command that makes or
///         downloads the model, names a subfolder that has a model, or says relative to which
///         folder the path is resolved. If the Hugging Face cache has an incomplete copy of the
///         model, the message names that copy.
void check_model_config(const Config& config, const std::filesystem::path& folder,
                        const std::string& key = "model.path");

/// Checks that `folder`, the value of `key`, has a config.json and files of weights, before
/// anything is written.
/// Ranks:  local; one rank calls this function.
/// Errors: those of check_model_config(). Failure E603 (exit 66) if there are no weights, or if the
///         folder is an incomplete copy in the Hugging Face cache. Its help says how to complete
///         that copy, how to train from random weights, or how to download weights.
void check_model_folder(const Config& config, const std::filesystem::path& folder,
                        const std::string& key = "model.path");

/// Returns the check of the model's folder that --check shows as a line. `config` has to outlive
/// the check.
run::FileCheck model_folder_check(const Config& config, const std::filesystem::path& folder);

}  // namespace mgpu::rows
