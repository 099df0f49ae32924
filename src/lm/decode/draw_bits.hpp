#pragma once

#include <cstdint>

#include <mgpu/base/random_streams.hpp>

namespace mgpu::lm {

/// The maximum number of vocabulary blocks. A block has kVocabularyBlock tokens, and separate
/// 32-bit random numbers. The numbers of block kDrawBlocks belong to no tokens. With tensor
/// parallelism, they select the rank whose draw is used.
inline constexpr std::uint32_t kDrawBlocks = 255;

/// Returns the random bits for one draw of a sample and one block of the vocabulary. `position` is
/// the number of earlier draws of the sample. `block` is at most kDrawBlocks.
constexpr Philox4 draw_bits(const RandomStream& stream, std::uint32_t position,
                            std::uint32_t block) {
  return stream.block(position * (kDrawBlocks + 1) + block);
}

}  // namespace mgpu::lm
