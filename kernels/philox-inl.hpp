// Computes the random number generator Philox in the lanes of SIMD vectors. This file is compiled
// once per instruction set; see foreach_target.h of Highway.
#if defined(MGPU_KERNELS_PHILOX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_PHILOX_INL
#undef MGPU_KERNELS_PHILOX_INL
#else
#define MGPU_KERNELS_PHILOX_INL
#endif

#include <hwy/highway.h>

#include <mgpu/kernels/dropout.hpp>

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A vector has at most 16 lanes, because the random numbers of a dropout run (kDropoutRun, 128
// elements) come from 16 Philox blocks, one per lane.
using Words = hn::CappedTag<std::uint32_t, 16>;
using WordVector = hn::Vec<Words>;

/// Multiplies the 32-bit elements of a vector by `factor`, and returns the high and low halves of
/// the 64-bit products.
HWY_INLINE void multiply_wide(WordVector a, std::uint32_t factor, WordVector& high,
                              WordVector& low) {
  const Words d;
#if HWY_TARGET == HWY_SCALAR  // one lane; this target has no vectors of 64-bit words
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * factor;
  high = hn::Set(d, static_cast<std::uint32_t>(product >> 32));
  low = hn::Set(d, static_cast<std::uint32_t>(product));
#else
  const hn::RepartitionToWide<Words> wide;
  const WordVector b = hn::Set(d, factor);
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
#endif
}

/// Computes consecutive Philox blocks of the random stream of (site, sample). Element i of words[w]
/// is word w of block first_block + i.
HWY_INLINE void philox_blocks(const DropoutSite& site, std::uint64_t sample,
                              std::uint32_t first_block, WordVector words[4]) {
  const Words d;
  words[0] = hn::Iota(d, first_block);
  words[1] = hn::Set(d, (static_cast<std::uint32_t>(kDropoutMasks) << 24) | site.site);
  words[2] = hn::Set(d, static_cast<std::uint32_t>(sample));
  words[3] = hn::Set(d, static_cast<std::uint32_t>(sample >> 32));
  auto k0 = static_cast<std::uint32_t>(site.seed);
  auto k1 = static_cast<std::uint32_t>(site.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    WordVector high0;
    WordVector low0;
    WordVector high1;
    WordVector low1;
    multiply_wide(words[0], 0xD2511F53, high0, low0);
    multiply_wide(words[2], 0xCD9E8D57, high1, low1);
    words[0] = hn::Xor(hn::Xor(high1, words[1]), hn::Set(d, k0));
    words[1] = low1;
    words[2] = hn::Xor(hn::Xor(high0, words[3]), hn::Set(d, k1));
    words[3] = low0;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
}

/// Returns a mask of the elements that dropout keeps, for use with vectors of floats. The random
/// number of an element is a 16-bit half of its word: the low half if `half` is 0, the high half if
/// `half` is 1. An element is kept if its random number is at least `threshold`.
template <int half>
HWY_INLINE hn::Mask<hn::Rebind<float, Words>> kept(WordVector word, std::uint32_t threshold) {
  const hn::Rebind<std::int32_t, Words> signed_words;
  const hn::Rebind<float, Words> floats;
  const WordVector bits =
      half == 0 ? hn::And(word, hn::Set(Words(), 0xFFFFU)) : hn::ShiftRight<16>(word);
  const auto below = hn::Set(signed_words, static_cast<std::int32_t>(threshold) - 1);
  return hn::RebindMask(floats, hn::Gt(hn::BitCast(signed_words, bits), below));
}

/// Computes the dropout factors of dropout run number `run` of a sample: elements 128 * run to 128
/// * run + 127. Each factor is site.scale() or 0.
HWY_INLINE void dropout_factors(const DropoutSite& site, std::uint64_t sample, std::uint64_t run,
                                float* HWY_RESTRICT factors) {
  const hn::Rebind<float, Words> floats;
  const auto scale = hn::Set(floats, site.scale());
  for (std::uint32_t lane = 0; lane < 16; lane += static_cast<std::uint32_t>(hn::Lanes(Words()))) {
    WordVector words[4];
    philox_blocks(site, sample, static_cast<std::uint32_t>(run * 16) + lane, words);
    for (std::size_t w = 0; w < 4; ++w) {
      const auto low = kept<0>(words[w], site.threshold);
      const auto high = kept<1>(words[w], site.threshold);
      hn::StoreU(hn::IfThenElseZero(low, scale), floats, factors + 32 * w + lane);
      hn::StoreU(hn::IfThenElseZero(high, scale), floats, factors + 32 * w + 16 + lane);
    }
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
