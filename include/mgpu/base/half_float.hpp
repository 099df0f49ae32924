#pragma once

#include <bit>
#include <cstdint>

namespace mgpu {

/// Converts the bits of a bfloat16, which are the upper half of a float's bits, to that float.
inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Converts a float to the bits of a bfloat16. Rounds to nearest, ties to even; NaN stays a (quiet)
/// NaN.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

/// Converts the bits of an IEEE 754 binary16 (1 sign, 5 exponent, 10 fraction bits) to a float.
inline float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t rest = bits & 0x7FFFU;
  if (rest >= 0x7C00U) return std::bit_cast<float>(sign | 0x7F800000U | (rest & 0x3FFU) << 13);
  // The bits of a half, moved to the same fields of a float, give a value 2^112 times too small.
  // This also holds for halves below 2^-14, which are subnormal.
  const float scaled = std::bit_cast<float>(rest << 13) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(scaled));
}

/// Converts a float to the bits of a binary16. Rounds to nearest, ties to even. Magnitudes of 65520
/// or more become infinity, and NaN becomes a quiet NaN.
inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t rest = bits & 0x7FFFFFFFU;
  if (rest > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (rest >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (rest < 0x38800000U) {
    // Halves below 2^-14 are multiples of 2^-24, and so are floats in [0.5, 1). So adding 0.5
    // rounds to such a multiple.
    const auto sum = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest) + 0.5F);
    return static_cast<std::uint16_t>(sign | (sum - std::bit_cast<std::uint32_t>(0.5F)));
  }
  const std::uint32_t rounded = rest + 0xFFFU + (rest >> 13 & 1U);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000U) >> 13);
}

/// A 16-bit floating-point number in storage, IEEE 754 binary16.
struct Half {
  std::uint16_t bits = 0;

  static Half of(float value) { return {to_f16(value)}; }
  float value() const { return from_f16(bits); }
};

}  // namespace mgpu
