#include <mgpu/kernels/gated_activation.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

/// Returns the smaller of x and the limit like fminf, but keeps NaN.
__device__ float at_most(float x, float limit) {
  return x > limit ? limit : x;
}

__device__ float activate(float x, const GatedActivationArgs& args) {
  switch (args.kind) {
    case ActivationKind::silu:
      return x / (1.0F + expf(-x));
    case ActivationKind::gelu:
      return 0.5F * x * (1.0F + erff(x * 0.70710678118654752440F));
    case ActivationKind::gelu_tanh:
      return 0.5F * x * (1.0F + tanhf(0.79788456080286535588F * (x + 0.044715F * x * x * x)));
    case ActivationKind::clamped: {
      const float low = at_most(x, args.limit);
      return low / (1.0F + expf(-args.gain * low));
    }
  }
  return x;
}

__device__ float factor_of(float up, const GatedActivationArgs& args) {
  if (args.kind != ActivationKind::clamped) return up;
  return -at_most(-at_most(up, args.limit), args.limit) + 1.0F;
}

/// Each thread computes one element at a time, in a grid-stride loop.
__global__ void gated_activation_kernel(GatedActivationArgs args) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < args.count;
       i += stride)
    args.out[i] =
        activate(args.gate[i], args) * (args.up == nullptr ? 1.0F : factor_of(args.up[i], args));
}

}  // namespace

void gated_activation(const GatedActivationArgs& args, CUstream_st* stream) {
  if (args.count == 0) return;
  gated_activation_kernel<<<blocks_for(args.count, kThreads), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
