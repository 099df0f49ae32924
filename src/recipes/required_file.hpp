#pragma once

#include <filesystem>

#include <mgpu/config/config.hpp>

namespace mgpu::recipes {

/// Throws unless `path` is a regular file. The message names `key`, the key that gives this path or
/// its folder.
/// Errors: ConfigFailure E603 (exit 66).
void require_file(const Config& config, const char* key, const std::filesystem::path& path);

}  // namespace mgpu::recipes
