// Each lane of a SIMD vector holds one element. Only ActivationKind::gelu uses scalar code, because
// erf has no vector version here.
#include <algorithm>
#include <cmath>
#include <limits>

#include <mgpu/kernels/gated_activation.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gated_activation_cpu.cpp"
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

/// Returns x / (1 + exp(-z)). NaN stays NaN, and x = -infinity gives NaN as in the formula.
HWY_INLINE Vector times_sigmoid(Vector x, Vector z) {
  const Floats d;
  constexpr float kLargest = 88.0F;  // exp(88) is still finite
  const Vector power = hn::Min(hn::Neg(z), hn::Set(d, kLargest));
  const Vector result = hn::Div(x, hn::Add(hn::Set(d, 1.0F), hn::Exp(d, power)));
  const Vector lowest = hn::Set(d, -std::numeric_limits<float>::infinity());
  const Vector nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  return hn::IfThenElse(hn::Eq(x, lowest), nan, result);
}

HWY_INLINE Vector activate(Vector x, const GatedActivationArgs& args) {
  const Floats d;
  if (args.kind == ActivationKind::silu) return times_sigmoid(x, x);
  if (args.kind == ActivationKind::clamped) {
    const Vector low = hn::IfThenElse(hn::IsNaN(x), x, hn::Min(x, hn::Set(d, args.limit)));
    return times_sigmoid(low, hn::Mul(low, hn::Set(d, args.gain)));
  }
  // For gelu_tanh: (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)).
  constexpr float kTwice = 1.5957691216057308F;  // 2 sqrt(2 / pi)
  const Vector cube = hn::Mul(hn::Mul(x, x), hn::Mul(x, hn::Set(d, 0.044715F)));
  return times_sigmoid(x, hn::Mul(hn::Set(d, kTwice), hn::Add(x, cube)));
}

/// Returns the factor by which the activation is multiplied. For ActivationKind::clamped, this is
/// clamp(up, -limit, limit) + 1, and for the other kinds `up`.
HWY_INLINE Vector factor_of(Vector up, const GatedActivationArgs& args) {
  if (args.kind != ActivationKind::clamped) return up;
  const Floats d;
  const Vector inside = hn::Max(hn::Min(up, hn::Set(d, args.limit)), hn::Set(d, -args.limit));
  return hn::Add(hn::IfThenElse(hn::IsNaN(up), up, inside), hn::Set(d, 1.0F));
}

float gelu(float x) {
  constexpr double kInverseRoot2 = 0.70710678118654752440;
  const double wide = x;
  return static_cast<float>(0.5 * wide * (1.0 + std::erf(wide * kInverseRoot2)));
}

HWY_INLINE void one_vector(const GatedActivationArgs& args, const float* gate, const float* up,
                           float* out) {
  const Floats d;
  const Vector active = activate(hn::LoadU(d, gate), args);
  if (up == nullptr) return hn::StoreU(active, d, out);
  hn::StoreU(hn::Mul(active, factor_of(hn::LoadU(d, up), args)), d, out);
}

void gelu_elements(const GatedActivationArgs& args) {
  for (std::size_t i = 0; i < args.count; ++i)
    args.out[i] = gelu(args.gate[i]) * (args.up == nullptr ? 1.0F : args.up[i]);
}

}  // namespace

void activate_elements(const GatedActivationArgs& args) {
  if (args.kind == ActivationKind::gelu) return gelu_elements(args);
  const std::size_t lanes = hn::Lanes(Floats());
  std::size_t i = 0;
  for (; i + lanes <= args.count; i += lanes)
    one_vector(args, args.gate + i, args.up == nullptr ? nullptr : args.up + i, args.out + i);
  const std::size_t rest = args.count - i;
  if (rest == 0) return;
  float last[3][16] = {};  // gate, up, out
  std::copy_n(args.gate + i, rest, last[0]);
  if (args.up != nullptr) std::copy_n(args.up + i, rest, last[1]);
  one_vector(args, last[0], args.up == nullptr ? nullptr : last[1], last[2]);
  std::copy_n(last[2], rest, args.out + i);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(activate_elements);

void gated_activation(const GatedActivationArgs& args) {
  HWY_DYNAMIC_DISPATCH(activate_elements)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
