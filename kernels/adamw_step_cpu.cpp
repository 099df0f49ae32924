#include <cmath>

#include <mgpu/kernels/adamw_step.hpp>

namespace mgpu::kernels::cpu {

void adamw_step(const AdamwArgs& args) {
  const float keep = 1.0F - args.learning_rate * args.weight_decay;
  const float rate = args.learning_rate / args.correction1;
  const float inverse_root = 1.0F / std::sqrt(args.correction2);
  for (std::size_t i = 0; i < args.count; ++i) {
    const float g = args.grads[i] * args.grad_scale;
    const float m = args.beta1 * args.m[i] + (1.0F - args.beta1) * g;
    const float v = args.beta2 * args.v[i] + (1.0F - args.beta2) * g * g;
    const float root = std::sqrt(v) * inverse_root + args.epsilon;
    args.weights[i] = args.weights[i] * keep - rate * m / root;
    args.m[i] = m;
    args.v[i] = v;
  }
}

}  // namespace mgpu::kernels::cpu
