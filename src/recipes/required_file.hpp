#pragma once

#include <filesystem>
#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu::recipes {

/// Throws unless `path` is a regular file. The message names `key`, whose value is `path` or
/// the folder that contains `path`. `help` tells the user how to solve the problem.
/// Errors: ConfigFailure E603 (exit 66).
void require_file(const Config& config, const char* key, const std::filesystem::path& path,
                  const std::string& help = "");

/// Throws unless `folder`, the value of `key`, has the files of a tokenizer.
/// Errors: ConfigFailure E603 (exit 66).
void require_tokenizer(const Config& config, const char* key, const std::filesystem::path& folder);

}  // namespace mgpu::recipes
