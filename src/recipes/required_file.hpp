#pragma once

#include <filesystem>

#include <mgpu/config/config.hpp>

namespace mgpu::recipes {

/// Refuses a path that is no regular file. `key` is the key that names the path or its folder.
/// Errors: ConfigFailure E603 (exit 66).
void require_file(const Config& config, const char* key, const std::filesystem::path& path);

}  // namespace mgpu::recipes
