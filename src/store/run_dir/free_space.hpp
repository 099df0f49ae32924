#pragma once

#include <cstdint>
#include <filesystem>

namespace mgpu::store {

/// Throws Failure E602 (exit 74) if the free space is too small to begin or continue a run. The run
/// needs `needed_bytes` in total, and the bytes that earlier attempts wrote are already on the
/// disk.
void require_space_to_go_on(const std::filesystem::path& folder, std::uint64_t needed_bytes);

}  // namespace mgpu::store
