#pragma once

#include <cstdint>
#include <filesystem>

namespace mgpu::store {

/// Throws Failure E602 (exit 74) if the free space is too small to begin or continue the run in
/// `folder`. The run needs `needed_bytes`, less the size of the files that `folder` already
/// contains.
void require_space_to_go_on(const std::filesystem::path& folder, std::uint64_t needed_bytes);

}  // namespace mgpu::store
