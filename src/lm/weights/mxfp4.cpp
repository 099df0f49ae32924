#include "mxfp4.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <mgpu/base/error.hpp>

namespace mgpu::lm {
namespace {

constexpr std::size_t kBlockBytes = kMxfp4Block / 2;
constexpr std::array<float, 16> kValues = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                           -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
constexpr unsigned kNan = 255;
constexpr int kBias = 127;

float scale_of(std::byte stored) {
  const auto exponent = std::to_integer<unsigned>(stored);
  if (exponent == kNan) return std::numeric_limits<float>::quiet_NaN();
  return std::ldexp(1.0F, static_cast<int>(exponent) - kBias);
}

}  // namespace

std::vector<float> decode_mxfp4(std::span<const std::byte> blocks,
                                std::span<const std::byte> scales) {
  if (blocks.size() != scales.size() * kBlockBytes)
    throw ShapeError("decode_mxfp4: " + std::to_string(blocks.size()) + " bytes for " +
                     std::to_string(scales.size()) + " blocks");
  std::vector<float> values;
  values.reserve(2 * blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const float scale = scale_of(scales[i / kBlockBytes]);
    const auto pair = std::to_integer<unsigned>(blocks[i]);
    values.push_back(kValues[pair & 15U] * scale);
    values.push_back(kValues[pair >> 4U] * scale);
  }
  return values;
}

}  // namespace mgpu::lm
