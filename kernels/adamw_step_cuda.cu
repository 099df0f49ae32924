#include <mgpu/kernels/adamw_step.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

/// Returns whether weight decay applies to weight i. Runs (ranges) of weights with and without
/// decay alternate.
__device__ bool decays(const AdamwRuns& runs, std::size_t i) {
  std::size_t first = 0;  // the run of weight i is one of the runs first .. last
  std::size_t last = runs.count - 1;
  while (first < last) {
    const std::size_t middle = (first + last) / 2;
    if (i < runs.ends[middle])
      last = middle;
    else
      first = middle + 1;
  }
  return (first % 2 == 0) == runs.first_decays;
}

/// Each thread updates one element at a time, in a grid-stride loop. The kernel is memory-bound: it
/// reads four arrays and writes three.
__global__ void adamw_step_kernel(AdamwArgs args, AdamwRuns runs) {
  const float decayed = 1.0F - args.learning_rate * args.weight_decay;
  const float rate = args.learning_rate / args.correction1;
  const float inverse_root = 1.0F / sqrtf(args.correction2);
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x; i < args.count;
       i += stride) {
    const float g = args.grads[i] * args.grad_scale;
    const float m = args.beta1 * args.m[i] + (1.0F - args.beta1) * g;
    const float v = args.beta2 * args.v[i] + (1.0F - args.beta2) * g * g;
    const float root = sqrtf(v) * inverse_root + args.epsilon;
    const float keep = decays(runs, i) ? decayed : 1.0F;
    args.weights[i] = args.weights[i] * keep - rate * m / root;
    args.m[i] = m;
    args.v[i] = v;
  }
}

}  // namespace

void adamw_step(const AdamwArgs& args, const AdamwRuns& runs, CUstream_st* stream) {
  if (args.count == 0) return;
  adamw_step_kernel<<<blocks_for(args.count, kThreads), kThreads, 0, stream>>>(args, runs);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
