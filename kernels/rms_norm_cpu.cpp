// For each row, this kernel first adds up the squares in two vector accumulators. It then writes
// the row in one pass.
#include <cmath>

#include <mgpu/kernels/rms_norm.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rms_norm_cpu.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

float mean_square(const float* HWY_RESTRICT x, std::size_t width) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  Vector even = hn::Zero(d);
  Vector odd = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= width; i += 2 * lanes) {
    const Vector first = hn::LoadU(d, x + i);
    const Vector second = hn::LoadU(d, x + i + lanes);
    even = hn::MulAdd(first, first, even);
    odd = hn::MulAdd(second, second, odd);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
  for (; i < width; ++i)
    sum += x[i] * x[i];
  return sum / static_cast<float>(width);
}

}  // namespace

void rms_norm_rows(const RmsNormArgs& args) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t n = 0; n < args.rows; ++n) {
    const float* x = args.x + n * args.width;
    float* out = args.out + n * args.width;
    const float scale = 1.0F / std::sqrt(mean_square(x, args.width) + args.epsilon);
    const Vector scales = hn::Set(d, scale);
    std::size_t i = 0;
    for (; i + lanes <= args.width; i += lanes) {
      const Vector normed = hn::Mul(hn::LoadU(d, x + i), scales);
      hn::StoreU(hn::Mul(normed, hn::LoadU(d, args.weight + i)), d, out + i);
    }
    for (; i < args.width; ++i)
      out[i] = x[i] * scale * args.weight[i];
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(rms_norm_rows);

void rms_norm(const RmsNormArgs& args) {
  HWY_DYNAMIC_DISPATCH(rms_norm_rows)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
