// Each thread block processes one row at a time. The threads of the block loop over the logits.
#include <mgpu/kernels/decoder_grads.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

__global__ void logits_grad_kernel(LogitsGradArgs args) {
  for (std::size_t n = blockIdx.x; n < args.rows; n += gridDim.x) {
    float* logits = args.logits + n * args.block;
    const float log_sum = args.log_sums[n];
    const std::int64_t place = args.targets[n] - args.first_id;
    for (std::size_t i = threadIdx.x; i < args.block; i += kThreads) {
      const float grad = expf(logits[i] - log_sum) * args.scale;
      logits[i] = static_cast<std::int64_t>(i) == place ? grad - args.scale : grad;
    }
  }
}

}  // namespace

void logits_grad(const LogitsGradArgs& args, CUstream_st* stream) {
  if (args.rows == 0 || args.block == 0) return;
  logits_grad_kernel<<<blocks_for(args.rows, 1), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
