#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mgpu::lm {

inline constexpr std::int64_t kMxfp4Block = 32;  // number of values that share one scale

/// Decodes 4-bit numbers (one bit of sign, two of exponent, one of mantissa) in blocks of 32. The
/// numbers of a block are multiplied by the block's scale, a power of two. The result is exact, or
/// infinite if it exceeds the range of float32. A stored scale of 255 gives NaN.
///
/// Shapes: N blocks; blocks [N, 16], two numbers per byte, the first in the low half; scales [N],
///         each the exponent of two plus 127; returns [N, 32]
/// Errors: ShapeError when there are not 16 bytes per scale.
/// Source: OCP Microscaling Formats (MX) Specification 1.0, sections 5.3 and 5.4.
std::vector<float> decode_mxfp4(std::span<const std::byte> blocks,
                                std::span<const std::byte> scales);

}  // namespace mgpu::lm
