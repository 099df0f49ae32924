#include <algorithm>
#include <array>
#include <cstddef>

#include <mgpu/base/random_streams.hpp>

namespace mgpu {
namespace {

// Number of Philox blocks that fill() computes at the same time. With 16 or fewer, g++ 12 unrolls
// the loops first, and then cannot vectorize them. With 20, fill() is 2.3 times as fast as
// computing one block at a time (SSE2).
constexpr std::size_t kLanes = 20;

using Lanes = std::array<std::uint32_t, kLanes>;

/// Applies one round of philox() to all lanes. c[w][i] is word w of the counter of lane i.
void round_of(std::array<Lanes, 4>& c, std::uint32_t k0, std::uint32_t k1) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0][i];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2][i];
    c[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1][i] ^ k0;
    c[1][i] = static_cast<std::uint32_t>(p1);
    c[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3][i] ^ k1;
    c[3][i] = static_cast<std::uint32_t>(p0);
  }
}

}  // namespace

void RandomStream::fill(std::uint32_t first_block, std::span<std::uint32_t> words) const {
  while (!words.empty()) {
    std::array<Lanes, 4> c;
    for (std::size_t i = 0; i < kLanes; ++i)
      c[0][i] = first_block + static_cast<std::uint32_t>(i);
    c[1].fill(site_);
    c[2].fill(static_cast<std::uint32_t>(sample_));
    c[3].fill(static_cast<std::uint32_t>(sample_ >> 32));
    for (std::uint32_t round = 0; round < 10; ++round)
      round_of(c, static_cast<std::uint32_t>(key_) + round * 0x9E3779B9,
               static_cast<std::uint32_t>(key_ >> 32) + round * 0xBB67AE85);

    std::array<std::uint32_t, 4 * kLanes> made;
    for (std::size_t i = 0; i < kLanes; ++i)
      for (std::size_t word = 0; word < 4; ++word)
        made[4 * i + word] = c[word][i];
    const std::size_t count = std::min(words.size(), made.size());
    std::copy_n(made.begin(), count, words.begin());
    words = words.subspan(count);
    first_block += kLanes;
  }
}

}  // namespace mgpu
