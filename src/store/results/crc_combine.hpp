#pragma once

#include <cstdint>

namespace mgpu::store {

/// Returns the CRC-32C of A followed by B, from the CRCs of A and B and the length of B in bytes.
std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t bytes_b);

}  // namespace mgpu::store
