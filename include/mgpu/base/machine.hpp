#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Returns the host name; "unknown" if the system does not provide it.
std::string host_name();

/// Finds the first line that begins with `name` and has a colon, in a file such as /proc/meminfo.
/// Returns the text after the colon without leading blanks; "" if there is no such line.
std::string system_value(const fs::path& path, std::string_view name);

/// Returns the absolute form of `path` if it exists, otherwise the absolute form of its nearest
/// existing ancestor.
fs::path existing_folder(const fs::path& path);

/// Returns the free bytes of the file system on which `path` is, or would be created; 0 if unknown.
std::uint64_t free_bytes(const fs::path& path);

}  // namespace mgpu
