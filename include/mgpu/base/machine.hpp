#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// Returns the host name; "unknown" if the system does not provide it.
std::string host_name();

/// Returns the text after the colon of the first line that begins with `name`, in a file such as
/// /proc/meminfo; "" if no line does.
std::string system_value(const fs::path& path, std::string_view name);

/// Returns `path`, or its nearest ancestor that exists.
fs::path existing_folder(const fs::path& path);

/// Returns the free bytes of the file system of `path`, which need not exist yet; 0 if unknown.
std::uint64_t free_bytes(const fs::path& path);

}  // namespace mgpu
