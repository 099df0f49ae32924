#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mgpu::formats {

/// Returns how many bits suffice for every number below `count`, such as 17 for a count of 128,256.
/// The result is at least 1.
int bits_for(std::uint64_t count);

/// Packs numbers of `bits` bits each, 1 to 32, without gaps: bit j of number i is bit (i * bits +
/// j) % 8 of byte (i * bits + j) / 8. Bit 0 is the least significant. The last byte is padded with
/// zeros.
/// Errors: Error when a number needs more than `bits` bits.
std::vector<std::uint8_t> pack_bits(std::span<const std::uint32_t> values, int bits);

/// Unpacks the first `count` numbers that pack_bits() packed with `bits` bits each. Errors:
/// ShapeError when there are too few bytes.
std::vector<std::uint32_t> unpack_bits(std::span<const std::uint8_t> bytes, int bits,
                                       std::size_t count);

}  // namespace mgpu::formats
