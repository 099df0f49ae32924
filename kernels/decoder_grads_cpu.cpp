// Each lane of a SIMD vector holds one element. The last vector of a row or array is padded. Only
// the gradient of ActivationKind::gelu uses scalar code.
#include <algorithm>
#include <cmath>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/decoder_grads.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decoder_grads_cpu.cpp"
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

/// Returns the first `count` floats of `from` as a vector. If there are fewer than a vector holds,
/// the other lanes are 0. If there are more, they are ignored.
HWY_INLINE Vector load(const float* from, std::size_t count) {
  const Floats d;
  if (count >= hn::Lanes(d)) return hn::LoadU(d, from);
  HWY_ALIGN float last[16] = {};
  std::copy_n(from, count, last);
  return hn::Load(d, last);
}

HWY_INLINE void store(Vector values, float* to, std::size_t count) {
  const Floats d;
  if (count >= hn::Lanes(d)) return hn::StoreU(values, d, to);
  HWY_ALIGN float last[16];
  hn::Store(values, d, last);
  std::copy_n(last, count, to);
}

/// Divides `count` elements into vectors, and calls visit(offset, number of remaining elements) for
/// each vector.
template <class Visit>
HWY_INLINE void for_each_vector(std::size_t count, Visit visit) {
  for (std::size_t i = 0; i < count; i += hn::Lanes(Floats()))
    visit(i, count - i);
}

/// Processes one row. With s = 1 / sqrt(mean(x^2) + epsilon) and g = grad * weight: grad_x = s (g -
/// s^2 mean(g x) x), grad_weight += s grad x.
void norm_row(const RmsNormGradArgs& args, std::size_t row) {
  const Floats d;
  const float* x = args.x + row * args.width;
  const float* grad = args.grad + row * args.width;
  float* grad_x = args.grad_x + row * args.width;
  Vector squares = hn::Zero(d);
  Vector along = hn::Zero(d);
  for_each_vector(args.width, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const Vector values = load(x + i, count);
    const Vector weighted = hn::Mul(load(grad + i, count), load(args.weight + i, count));
    squares = hn::MulAdd(values, values, squares);
    along = hn::MulAdd(weighted, values, along);
  });
  const auto width = static_cast<float>(args.width);
  const float mean_square = hn::GetLane(hn::SumOfLanes(d, squares)) / width;
  const float scale = 1.0F / std::sqrt(mean_square + args.epsilon);
  const float share = scale * scale * hn::GetLane(hn::SumOfLanes(d, along)) / width;
  for_each_vector(args.width, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const Vector values = load(x + i, count);
    const Vector grads = load(grad + i, count);
    const Vector weighted = hn::Mul(grads, load(args.weight + i, count));
    const Vector inside = hn::NegMulAdd(hn::Set(d, share), values, weighted);
    const Vector normed = hn::Mul(hn::Set(d, scale), values);
    store(hn::Mul(hn::Set(d, scale), inside), grad_x + i, count);
    store(hn::MulAdd(grads, normed, load(args.grad_weight + i, count)), args.grad_weight + i,
          count);
  });
}

/// The value of an activation function, and its derivative (`slope`).
struct Activated {
  Vector value;
  Vector slope;
};

/// Returns x s(z) and its derivative, with s(z) = 1 / (1 + exp(-z)). For silu z = x. For gelu_tanh
/// z = 2 sqrt(2 / pi) (x + kCube x^3), because (1 + tanh(z / 2)) / 2 = s(z).
HWY_INLINE Activated activate(Vector x, ActivationKind kind) {
  const Floats d;
  constexpr float kLargest = 88.0F;              // exp(88) is still finite
  constexpr float kTwice = 1.5957691216057308F;  // 2 sqrt(2 / pi)
  constexpr float kCube = 0.044715F;
  const Vector one = hn::Set(d, 1.0F);
  Vector z = x;
  Vector slope_of_z = one;
  if (kind == ActivationKind::gelu_tanh) {
    const Vector square = hn::Mul(x, x);
    const Vector twice = hn::Set(d, kTwice);
    z = hn::Mul(hn::Mul(twice, x), hn::MulAdd(hn::Set(d, kCube), square, one));
    slope_of_z = hn::Mul(twice, hn::MulAdd(hn::Set(d, 3.0F * kCube), square, one));
  }
  const Vector power = hn::Min(hn::Neg(z), hn::Set(d, kLargest));
  const Vector sigmoid = hn::Div(one, hn::Add(one, hn::Exp(d, power)));
  const Vector value = hn::Mul(x, sigmoid);
  const Vector bend = hn::Mul(hn::Mul(value, hn::Sub(one, sigmoid)), slope_of_z);
  return {value, hn::Add(sigmoid, bend)};
}

/// Computes the gradients of gelu with scalar erf, which has no vector version here.
void gelu_elements(const GatedActivationGradArgs& args) {
  constexpr double kInverseRoot2 = 0.70710678118654752440;
  constexpr double kInverseRoot2Pi = 0.39894228040143267794;
  for (std::size_t i = 0; i < args.count; ++i) {
    const double x = args.gate[i];
    const double below = 0.5 * (1.0 + std::erf(x * kInverseRoot2));
    const double slope = below + x * kInverseRoot2Pi * std::exp(-0.5 * x * x);
    const double grad = args.grad[i];
    const double factor = args.up == nullptr ? 1.0 : args.up[i];
    args.grad_gate[i] = static_cast<float>(grad * factor * slope);
    if (args.up != nullptr) args.grad_up[i] = static_cast<float>(grad * x * below);
  }
}

void logits_row(const LogitsGradArgs& args, std::size_t row) {
  const Floats d;
  float* logits = args.logits + row * args.block;
  const Vector log_sum = hn::Set(d, args.log_sums[row]);
  for_each_vector(args.block, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const Vector shifted = hn::Sub(load(logits + i, count), log_sum);
    // NaN has to be kept explicitly, because hn::Exp would turn it into 0.
    const Vector p = hn::IfThenElse(hn::IsNaN(shifted), shifted, hn::Exp(d, shifted));
    store(hn::Mul(p, hn::Set(d, args.scale)), logits + i, count);
  });
  const std::int64_t place = args.targets[row] - args.first_id;
  if (place >= 0 && static_cast<std::size_t>(place) < args.block) logits[place] -= args.scale;
}

}  // namespace

void norm_rows(const RmsNormGradArgs& args) {
  for (std::size_t row = 0; row < args.rows; ++row)
    norm_row(args, row);
}

void gate_elements(const GatedActivationGradArgs& args) {
  if (args.kind == ActivationKind::gelu) return gelu_elements(args);
  for_each_vector(args.count, [&](std::size_t i, std::size_t count) HWY_ATTR {
    const Vector grad = load(args.grad + i, count);
    const Activated active = activate(load(args.gate + i, count), args.kind);
    Vector grad_active = grad;
    if (args.up != nullptr) {
      grad_active = hn::Mul(grad, load(args.up + i, count));
      store(hn::Mul(grad, active.value), args.grad_up + i, count);
    }
    store(hn::Mul(grad_active, active.slope), args.grad_gate + i, count);
  });
}

void logits_rows(const LogitsGradArgs& args) {
  for (std::size_t row = 0; row < args.rows; ++row)
    logits_row(args, row);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(norm_rows);
HWY_EXPORT(gate_elements);
HWY_EXPORT(logits_rows);

void rms_norm_grad(const RmsNormGradArgs& args) {
  HWY_DYNAMIC_DISPATCH(norm_rows)(args);
}

void gated_activation_grad(const GatedActivationGradArgs& args) {
  if (args.kind == ActivationKind::clamped)
    throw ShapeError("gated_activation_grad: the clamped activation has another gradient");
  HWY_DYNAMIC_DISPATCH(gate_elements)(args);
}

void logits_grad(const LogitsGradArgs& args) {
  HWY_DYNAMIC_DISPATCH(logits_rows)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
