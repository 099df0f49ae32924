#include "peak_flops.hpp"

#include <algorithm>
#include <cstddef>
#include <ctime>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "peak_flops.cpp"
// foreach_target.h must come before everything that is compiled once per target.
// clang-format off
#include <hwy/foreach_target.h>
// clang-format on

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace mgpu::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The number of independent chains of multiply-adds. A core may have two multiply-add units with a
// latency of five cycles, so it needs ten chains to be busy.
constexpr std::size_t kChains = 12;
constexpr std::size_t kRounds = 32'000'000;

/// Returns the number of FLOP. Writes to `out` a vector that depends on all results, so that the
/// compiler cannot remove the computation.
double multiply_add(float* out) {
  const hn::CappedTag<float, 16> d;
  using Vector = hn::Vec<decltype(d)>;
  const Vector factor = hn::Set(d, 0.999F);
  const Vector term = hn::Set(d, 0.001F);
  Vector chains[kChains];
  for (std::size_t c = 0; c < kChains; ++c)
    chains[c] = hn::Set(d, static_cast<float>(c));
  for (std::size_t round = 0; round < kRounds; ++round) {
    HWY_UNROLL(kChains)
    for (std::size_t c = 0; c < kChains; ++c)
      chains[c] = hn::MulAdd(chains[c], factor, term);
  }
  Vector sum = hn::Zero(d);
  for (std::size_t c = 0; c < kChains; ++c)
    sum = hn::Add(sum, chains[c]);
  hn::StoreU(sum, d, out);
  return 2.0 * static_cast<double>(kRounds * kChains * hn::Lanes(d));
}

}  // namespace mgpu::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::bench {

HWY_EXPORT(multiply_add);

double peak_flops() {
  double best = 0.0;
  for (int trial = 0; trial < 5; ++trial) {
    float out[16] = {};
    const std::clock_t begin = std::clock();
    const double flops = HWY_DYNAMIC_DISPATCH(multiply_add)(out);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    best = std::max(best, flops / seconds);
  }
  return best;
}

}  // namespace mgpu::bench
#endif
