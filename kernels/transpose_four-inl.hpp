// Transposes blocks of 4 x 4 floats. This file is compiled once per instruction set; see
// foreach_target.h of Highway.
#if defined(MGPU_KERNELS_TRANSPOSE_FOUR_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_TRANSPOSE_FOUR_INL
#undef MGPU_KERNELS_TRANSPOSE_FOUR_INL
#else
#define MGPU_KERNELS_TRANSPOSE_FOUR_INL
#endif

#include <cstddef>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
/// Transposes a 4 x 4 block: line n of `to` gets element n of each of the four lines of `from`.
HWY_INLINE void transpose_four(const float* from, std::size_t from_pitch, float* to,
                               std::size_t to_pitch) {
  const hn::CappedTag<float, 4> four;
  const hn::Repartition<double, decltype(four)> pairs;
  const auto low = [&](auto a, auto b)
                       HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveLower(four, a, b)); };
  const auto high = [&](auto a, auto b)
                        HWY_ATTR { return hn::BitCast(pairs, hn::InterleaveUpper(four, a, b)); };
  const auto store = [&](auto line, std::size_t n)
                         HWY_ATTR { hn::StoreU(hn::BitCast(four, line), four, to + n * to_pitch); };
  const auto a = hn::LoadU(four, from);
  const auto b = hn::LoadU(four, from + from_pitch);
  const auto c = hn::LoadU(four, from + 2 * from_pitch);
  const auto d = hn::LoadU(four, from + 3 * from_pitch);
  store(hn::InterleaveLower(pairs, low(a, b), low(c, d)), 0);
  store(hn::InterleaveUpper(pairs, low(a, b), low(c, d)), 1);
  store(hn::InterleaveLower(pairs, high(a, b), high(c, d)), 2);
  store(hn::InterleaveUpper(pairs, high(a, b), high(c, d)), 3);
}
#endif

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
