#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace mgpu {

/// The purpose of random numbers. Each purpose has separate streams, so a new draw for one purpose
/// never changes the numbers of another purpose.
///
/// The enumerators are the purposes that several modules share. A purpose of a single module is a
/// constant in that module, `constexpr Purpose kName{number}`. tests/lint/purposes_test.cpp fails
/// if two purposes have the same number.
enum class Purpose : std::uint8_t {
  source = 1,      // generated data; one stream per history or text
  data_order = 2,  // order of the training items; one permutation per epoch
  sampling = 6,    // sampled actions and tokens; one stream per sample
};

using Philox4 = std::array<std::uint32_t, 4>;

/// Applies ten rounds of Philox to `counter`; returns four independent 32-bit words.
///
/// Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011), Philox4x32-10.
constexpr Philox4 philox(Philox4 counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

/// Returns a uniform number in [0, 1), a multiple of 2^-53, made of the upper 53 bits of the 64-bit
/// number with words `high` and `low`.
constexpr double uniform53(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32) | low;
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// The random numbers of one sample in one round. The caller chooses what a round is, for example
/// an epoch. Draw d is a pure function of (seed, purpose, round, sample, d), never of a rank or of
/// the order of calls. A stream has 2^34 draws, and then repeats.
class RandomStream {
public:
  /// Requires round < 2^24.
  constexpr RandomStream(std::uint64_t seed, Purpose purpose, std::uint32_t round,
                         std::uint64_t sample)
      : key_(seed), site_((static_cast<std::uint32_t>(purpose) << 24) | round), sample_(sample) {}

  /// Returns draw `draw` as 32 random bits.
  constexpr std::uint32_t bits(std::uint64_t draw) const {
    return block(static_cast<std::uint32_t>(draw / 4))[draw % 4];
  }

  /// Returns draw `draw` as a uniform number in [0, 1), a multiple of 2^-24.
  constexpr float uniform(std::uint64_t draw) const {
    return static_cast<float>(bits(draw) >> 8) * 0x1.0p-24F;
  }

  /// Returns draw `draw` as a uniform number in {0, ..., n - 1}; n > 0. The bias is below n / 2^32.
  constexpr std::uint32_t below(std::uint32_t n, std::uint64_t draw) const {
    return static_cast<std::uint32_t>((std::uint64_t{bits(draw)} * n) >> 32);
  }

  /// Returns draws 4b to 4b + 3, which bits() returns one by one.
  constexpr Philox4 block(std::uint32_t b) const {
    return philox(
        {b, site_, static_cast<std::uint32_t>(sample_), static_cast<std::uint32_t>(sample_ >> 32)},
        key_);
  }

  /// Fills `words` with the bits of draws 4 * first_block, 4 * first_block + 1 and so on. It is
  /// faster than bits(), because it computes several blocks at a time.
  void fill(std::uint32_t first_block, std::span<std::uint32_t> words) const;

private:
  std::uint64_t key_;
  std::uint32_t site_;
  std::uint64_t sample_;
};

}  // namespace mgpu
