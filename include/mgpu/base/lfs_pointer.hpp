#pragma once

#include <filesystem>
#include <string_view>

namespace mgpu {

/// Throws if the file at `path` is a pointer that Git LFS leaves in place of a file it has not
/// fetched. `text` is the beginning of the file, or its whole content.
///
/// Errors: Failure E622 (exit 65)
void refuse_lfs_pointer(const std::filesystem::path& path, std::string_view text);

}  // namespace mgpu
