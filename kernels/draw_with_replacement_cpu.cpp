// This kernel processes a row in pieces of 64 logits. It computes the probabilities of a piece with
// SIMD vectors, and then adds the probabilities in the order of the tokens.
#include <algorithm>

#include <mgpu/kernels/draw_with_replacement.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "draw_with_replacement_cpu.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;

constexpr std::size_t kPiece = 64;

/// Writes exp(logit - log_sum) of `count` logits to out[0 .. count - 1], and 0 to the rest of
/// out[0 .. kPiece - 1]. A logit of NaN or -infinity gives 0.
void probabilities(const float* logits, std::size_t count, float log_sum, float* out) {
  const Floats d;
  std::fill_n(out, kPiece, -INFINITY);
  std::copy_n(logits, count, out);
  for (std::size_t i = 0; i < kPiece; i += hn::Lanes(d)) {
    const auto logit = hn::Load(d, out + i);
    const auto is_token = hn::Gt(logit, hn::Set(d, -INFINITY));  // false for NaN
    const auto p = hn::Exp(d, hn::Sub(logit, hn::Set(d, log_sum)));
    hn::Store(hn::IfThenElseZero(is_token, p), d, out + i);
  }
}

void draw_row(const DrawWithReplacementArgs& args, std::size_t n) {
  const float* logits = args.logits + n * args.block;
  const double* uniforms = args.uniforms + n * args.draws;
  std::int64_t* ids = args.ids + n * args.draws;
  double reached = args.reached[n];
  auto next = static_cast<std::size_t>(std::lower_bound(uniforms, uniforms + args.draws, reached) -
                                       uniforms);
  HWY_ALIGN float piece[kPiece];
  for (std::size_t first = 0; first < args.block; first += kPiece) {
    const std::size_t count = std::min(kPiece, args.block - first);
    probabilities(logits + first, count, args.log_sums[n], piece);
    for (std::size_t i = 0; i < count; ++i) {
      reached += static_cast<double>(piece[i]);
      for (; next < args.draws && uniforms[next] < reached; ++next)
        ids[next] = args.first_id + static_cast<std::int64_t>(first + i);
    }
  }
  args.reached[n] = reached;
}

void draw_rows(const DrawWithReplacementArgs& args) {
  for (std::size_t n = 0; n < args.rows; ++n)
    draw_row(args, n);
}

}  // namespace
}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(draw_rows);

void draw_with_replacement(const DrawWithReplacementArgs& args) {
  HWY_DYNAMIC_DISPATCH(draw_rows)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
