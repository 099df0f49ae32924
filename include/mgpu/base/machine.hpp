#pragma once

#include <cstdint>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu {

/// This machine's name; "unknown" when the system does not tell.
std::string host_name();

/// `path`, or the nearest folder above it that exists.
fs::path existing_folder(const fs::path& path);

/// Free bytes where `path` is or would be; 0 where nobody knows.
std::uint64_t free_bytes(const fs::path& path);

}  // namespace mgpu
