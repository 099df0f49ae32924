#pragma once

#include <cstdint>

namespace mgpu::run {

/// Number of a phase in the journal of a run whose chunks are valid for certain inputs or weights
/// only: `crc` is their checksum. It is 2^31 or more; phases that the identity of the run
/// determines have smaller numbers.
constexpr std::uint32_t phase_of(std::uint32_t crc) {
  return crc | 0x80000000U;
}

}  // namespace mgpu::run
