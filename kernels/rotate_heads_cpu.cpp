// This kernel processes one head at a time, so that the head stays in the L1 cache. It writes the
// normalized head, if there is a norm, and then rotates the head's pairs of columns.
#include <mgpu/base/error.hpp>
#include <mgpu/kernels/rms_norm.hpp>
#include <mgpu/kernels/rotate_heads.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rotate_heads_cpu.cpp"
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

/// Rotates the pairs (x[c], x[half + c]) of one head; `out` may be `x`.
void rotate_pairs(const float* x, const float* cosine, const float* sine, std::size_t half,
                  float* out) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t c = 0;
  for (; c + lanes <= half; c += lanes) {
    const Vector first = hn::LoadU(d, x + c);
    const Vector second = hn::LoadU(d, x + half + c);
    const Vector cosines = hn::LoadU(d, cosine + c);
    const Vector sines = hn::LoadU(d, sine + c);
    hn::StoreU(hn::NegMulAdd(second, sines, hn::Mul(first, cosines)), d, out + c);
    hn::StoreU(hn::MulAdd(first, sines, hn::Mul(second, cosines)), d, out + half + c);
  }
  for (; c < half; ++c) {
    const float first = x[c];
    const float second = x[half + c];
    out[c] = first * cosine[c] - second * sine[c];
    out[half + c] = second * cosine[c] + first * sine[c];
  }
}

}  // namespace

void rotate_tokens(const RotateHeadsArgs& args) {
  const std::size_t half = args.columns / 2;
  for (std::size_t n = 0; n < args.tokens; ++n) {
    for (std::size_t h = 0; h < args.heads; ++h) {
      const std::size_t place = (n * args.heads + h) * args.columns;
      const float* x = args.x + place;
      float* out = args.out + place;
      if (args.weight != nullptr) {
        rms_norm({x, args.weight, out, 1, args.columns, args.epsilon});
        x = out;
      }
      rotate_pairs(x, args.cosine + n * half, args.sine + n * half, half, out);
    }
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(rotate_tokens);

void rotate_heads(const RotateHeadsArgs& args) {
  if (args.columns % 2 != 0) throw ShapeError("rotate_heads: an odd number of columns");
  HWY_DYNAMIC_DISPATCH(rotate_tokens)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
