#pragma once

#include <cstdint>

#include <mgpu/base/random_streams.hpp>

namespace mgpu::lm {

/// The maximum number of vocabulary blocks, each with its own random words. The words for block
/// number kDrawBlocks serve another purpose: they select one of the ranks' draws.
inline constexpr std::uint32_t kDrawBlocks = 255;

/// Returns the random words for one draw of a sample and one block of the vocabulary. `position` is
/// the number of earlier draws of the sample, `block` at most kDrawBlocks.
constexpr Philox4 draw_words(const RandomStream& stream, std::uint32_t position,
                             std::uint32_t block) {
  return stream.block(position * (kDrawBlocks + 1) + block);
}

}  // namespace mgpu::lm
