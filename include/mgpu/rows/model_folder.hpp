#pragma once

#include <filesystem>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/run/file_check.hpp>

namespace mgpu::rows {

/// Checks that `folder`, the value of `key`, exists and has a config.json. This is enough for a dry
/// run (--plan), which needs no weights. Other runs call check_model_folder().
/// Ranks:  local; one rank calls this function.
///
/// Errors: Failure E603 (exit 66) that points at the key, in these cases:
///         - The model is an incomplete copy in the Hugging Face cache. The message names the
///           copy.
///         - The folder has no config.json. The help names a subfolder that has one, if possible.
///         - The folder does not exist. The help has the command that makes or downloads the model.
///           If no such command is known, the help says where a relative path starts, or that an
///           absolute path must be a Hugging Face folder.
void check_model_config(const Config& config, const std::filesystem::path& folder,
                        const std::string& key = "model.path");

/// Checks that `folder`, the value of `key`, has a config.json and files of weights, before
/// anything is written.
/// Ranks:  local; one rank calls this function.
///
/// Errors: those of check_model_config(); Failure E603 (exit 66) in these cases:
///         - The folder is an incomplete copy in the Hugging Face cache. The help has the command
///           that completes the copy.
///         - The folder has no weights. For model.path of job train, the help says how to train
///           from random weights. Otherwise it asks for a download of the weights.
void check_model_folder(const Config& config, const std::filesystem::path& folder,
                        const std::string& key = "model.path");

/// Returns the check of the model's folder that --check shows as a line. `config` has to outlive
/// the check.
run::FileCheck model_folder_check(const Config& config, const std::filesystem::path& folder);

}  // namespace mgpu::rows
