#pragma once

#include <cstdint>

#include <mgpu/base/random_streams.hpp>

namespace mgpu::lm {

/// Blocks of a vocabulary that have words of their own; one number more is for draws between them.
inline constexpr std::uint32_t kDrawBlocks = 255;

/// Words for a position of a sample and a block of its vocabulary, at most kDrawBlocks.
constexpr Philox4 draw_words(const RandomStream& stream, std::uint32_t position,
                             std::uint32_t block) {
  return stream.block(position * (kDrawBlocks + 1) + block);
}

}  // namespace mgpu::lm
