#include <cub/block/block_reduce.cuh>

#include <mgpu/kernels/squared_norm.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
using Reduce = cub::BlockReduce<double, kThreads>;

/// Each thread block sums the squares of kNormBlock elements into one element of block_sums.
__global__ void block_sums_kernel(SquaredNormArgs args) {
  __shared__ typename Reduce::TempStorage scratch;
  const std::size_t begin = blockIdx.x * kNormBlock;
  const std::size_t end = min(begin + kNormBlock, args.count);
  double sum = 0.0;
  for (std::size_t i = begin + threadIdx.x; i < end; i += kThreads)
    sum += static_cast<double>(args.x[i]) * args.x[i];
  sum = Reduce(scratch).Sum(sum);
  if (threadIdx.x == 0) args.block_sums[blockIdx.x] = sum;
}

/// One block adds all block sums. Each thread adds every 256th block sum, in order.
__global__ void total_kernel(SquaredNormArgs args, std::size_t blocks) {
  __shared__ typename Reduce::TempStorage scratch;
  double sum = 0.0;
  for (std::size_t b = threadIdx.x; b < blocks; b += kThreads)
    sum += args.block_sums[b];
  sum = Reduce(scratch).Sum(sum);
  if (threadIdx.x == 0) *args.out = sum;
}

}  // namespace

void squared_norm(const SquaredNormArgs& args, CUstream_st* stream) {
  const std::size_t blocks = (args.count + kNormBlock - 1) / kNormBlock;
  if (blocks > 0) {
    block_sums_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(args);
    check_launch();
  }
  total_kernel<<<1, kThreads, 0, stream>>>(args, blocks);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
