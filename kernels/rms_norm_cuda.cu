#include <cub/block/block_reduce.cuh>

#include <mgpu/kernels/rms_norm.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
using Reduce = cub::BlockReduce<float, kThreads>;

/// Each block processes one row at a time. Each thread processes every 256th column of that row.
__global__ void rms_norm_kernel(RmsNormArgs args) {
  __shared__ typename Reduce::TempStorage scratch;
  __shared__ float scale;
  for (std::size_t n = blockIdx.x; n < args.rows; n += gridDim.x) {
    const float* x = args.x + n * args.width;
    float* out = args.out + n * args.width;
    float sum = 0.0F;
    for (std::size_t i = threadIdx.x; i < args.width; i += kThreads)
      sum += x[i] * x[i];
    sum = Reduce(scratch).Sum(sum);
    if (threadIdx.x == 0) scale = 1.0F / sqrtf(sum / static_cast<float>(args.width) + args.epsilon);
    __syncthreads();
    for (std::size_t i = threadIdx.x; i < args.width; i += kThreads)
      out[i] = x[i] * scale * args.weight[i];
    __syncthreads();  // the next row overwrites `scale` and `scratch`
  }
}

}  // namespace

void rms_norm(const RmsNormArgs& args, CUstream_st* stream) {
  if (args.rows == 0 || args.width == 0) return;
  rms_norm_kernel<<<blocks_for(args.rows, 1), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
