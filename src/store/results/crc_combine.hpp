#pragma once

#include <cstdint>

namespace mgpu::store {

/// Returns the CRC-32C of the bytes A followed by the bytes B. `crc_a` and `crc_b` are the CRCs of
/// A and of B, and `bytes_b` is the length of B.
std::uint32_t crc32c_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t bytes_b);

}  // namespace mgpu::store
