#pragma once

#include <cstdint>

#include <mgpu/base/random_streams.hpp>

namespace mgpu::lm {

/// The maximum number of vocabulary blocks with separate random words. Block number kDrawBlocks
/// itself has the words that select among the draws of the ranks.
inline constexpr std::uint32_t kDrawBlocks = 255;

/// Returns the random words for a position of a sample and a block of the vocabulary. `block` is at
/// most kDrawBlocks.
constexpr Philox4 draw_words(const RandomStream& stream, std::uint32_t position,
                             std::uint32_t block) {
  return stream.block(position * (kDrawBlocks + 1) + block);
}

}  // namespace mgpu::lm
