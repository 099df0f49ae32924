#pragma once

#include <cstdint>

namespace mgpu::run {

/// Returns the journal's number (ChunkPhase::id) of a phase whose chunks are valid only for certain
/// inputs or weights. `crc` is the checksum of these inputs or weights. The number is 2^31 or more;
/// phases whose chunks depend only on the run's identity have smaller numbers.
constexpr std::uint32_t phase_of(std::uint32_t crc) {
  return crc | 0x80000000U;
}

}  // namespace mgpu::run
