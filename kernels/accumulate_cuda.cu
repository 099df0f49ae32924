#include <mgpu/kernels/accumulate.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

/// Each thread adds one element at a time, in a grid-stride loop.
__global__ void accumulate_kernel(AccumulateArgs args) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kThreads;
  for (std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x; i < args.count;
       i += stride)
    args.sum[i] += args.x[i];
}

}  // namespace

void accumulate(const AccumulateArgs& args, CUstream_st* stream) {
  if (args.count == 0) return;
  accumulate_kernel<<<blocks_for(args.count, kThreads), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
