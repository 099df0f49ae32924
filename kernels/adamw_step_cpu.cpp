#include <algorithm>
#include <cmath>

#include <mgpu/kernels/adamw_step.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "adamw_step_cpu.cpp"
// Highway requires foreach_target.h before all code that is compiled once per instruction set.
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

/// The factors of the update, as vectors. All elements of a call have the same factors.
struct Factors {
  explicit Factors(const AdamwArgs& args)
      : grad_scale(splat(args.grad_scale)),
        beta1(splat(args.beta1)),
        beta2(splat(args.beta2)),
        share1(splat(1.0F - args.beta1)),
        share2(splat(1.0F - args.beta2)),
        inverse_root(splat(1.0F / std::sqrt(args.correction2))),
        epsilon(splat(args.epsilon)),
        keep(splat(1.0F - args.learning_rate * args.weight_decay)),
        rate(splat(args.learning_rate / args.correction1)) {}

  static Vector splat(float value) { return hn::Set(Floats(), value); }

  Vector grad_scale;
  Vector beta1;
  Vector beta2;
  Vector share1;
  Vector share2;
  Vector inverse_root;
  Vector epsilon;
  Vector keep;
  Vector rate;
};

/// Updates one vector of elements of weight, m and v.
HWY_INLINE void step(const Factors& f, const float* grad, float* weight, float* m, float* v) {
  const Floats d;
  const Vector g = hn::Mul(hn::LoadU(d, grad), f.grad_scale);
  const Vector new_m = hn::MulAdd(f.beta1, hn::LoadU(d, m), hn::Mul(f.share1, g));
  const Vector new_v = hn::MulAdd(f.beta2, hn::LoadU(d, v), hn::Mul(hn::Mul(f.share2, g), g));
  const Vector root = hn::MulAdd(hn::Sqrt(new_v), f.inverse_root, f.epsilon);
  const Vector kept = hn::Mul(hn::LoadU(d, weight), f.keep);
  hn::StoreU(hn::NegMulAdd(f.rate, hn::Div(new_m, root), kept), d, weight);
  hn::StoreU(new_m, d, m);
  hn::StoreU(new_v, d, v);
}

}  // namespace

void update_weights(const AdamwArgs& args) {
  const std::size_t lanes = hn::Lanes(Floats());
  const Factors factors(args);
  std::size_t i = 0;
  for (; i + lanes <= args.count; i += lanes)
    step(factors, args.grads + i, args.weights + i, args.m + i, args.v + i);
  const std::size_t rest = args.count - i;
  if (rest == 0) return;
  float last[4][16] = {};  // grads, weights, m, v
  std::copy_n(args.grads + i, rest, last[0]);
  std::copy_n(args.weights + i, rest, last[1]);
  std::copy_n(args.m + i, rest, last[2]);
  std::copy_n(args.v + i, rest, last[3]);
  step(factors, last[0], last[1], last[2], last[3]);
  std::copy_n(last[1], rest, args.weights + i);
  std::copy_n(last[2], rest, args.m + i);
  std::copy_n(last[3], rest, args.v + i);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(update_weights);

void adamw_step(const AdamwArgs& args) {
  HWY_DYNAMIC_DISPATCH(update_weights)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
