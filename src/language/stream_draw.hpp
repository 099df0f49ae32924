#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include <mgpu/base/random_streams.hpp>

namespace mgpu::language {

/// Draws one token from softmax(scores) while scores come block by block: a block takes the draw
/// over with its share of the sum so far, and a token of it with its share of the block.
///
/// Source: Chao, Biometrika 69 (1982), weighted reservoir of one item. Sums in double.
class StreamDraw {
public:
  StreamDraw(const RandomStream& stream, std::uint32_t position)
      : stream_(stream), position_(position) {}

  /// Scores of tokens first_id and on. True when the draw is now among them.
  bool add(std::span<const float> scores, std::int64_t first_id);

  std::int64_t id() const { return id_; }

private:
  RandomStream stream_;
  std::uint32_t position_;
  std::uint32_t block_ = 0;
  double top_ = -std::numeric_limits<double>::infinity();
  double sum_ = 0.0;
  std::int64_t id_ = -1;
};

/// Uniform in [0, 1), a multiple of 2^-53, of two words.
constexpr double uniform53(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Words for a position of a sample and a block of its vocabulary.
constexpr Philox4 draw_words(const RandomStream& stream, std::uint32_t position,
                             std::uint32_t block) {
  return stream.block(position * 256 + block);
}

}  // namespace mgpu::language
