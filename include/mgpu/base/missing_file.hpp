#pragma once

#include <optional>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Returns why `path` cannot be read as a file: "there is no such file: PATH". For a folder, a
/// device or a pipe, returns "this is not a regular file: PATH". Returns nullopt for a regular
/// file.
std::optional<std::string> missing_file(const fs::path& path);

}  // namespace mgpu
