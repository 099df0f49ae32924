// One thread block processes a row. It goes through the row's logits in tiles, with one prefix sum
// (scan) per tile. Each thread handles one token of the tile, and finds the uniform random numbers
// that sample this token.
#include <cmath>

#include <cub/block/block_scan.cuh>

#include <mgpu/kernels/draw_with_replacement.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
using Scan = cub::BlockScan<double, kThreads>;

/// Returns how many of the ascending `uniforms` are below `bound`.
__device__ std::size_t count_below(const double* uniforms, std::size_t count, double bound) {
  std::size_t low = 0;
  while (low < count) {
    const std::size_t middle = (low + count) / 2;
    if (uniforms[middle] < bound)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

__global__ void draw_with_replacement_kernel(DrawWithReplacementArgs args) {
  __shared__ typename Scan::TempStorage scratch;
  __shared__ double ends[kThreads];
  const std::size_t n = blockIdx.x;
  const float* logits = args.logits + n * args.block;
  const double* uniforms = args.uniforms + n * args.draws;
  double before = args.reached[n];
  for (std::size_t tile = 0; tile < args.block; tile += kThreads) {
    const std::size_t i = tile + threadIdx.x;
    const float logit = i < args.block ? logits[i] : -INFINITY;
    const double weight =
        logit > -INFINITY ? static_cast<double>(expf(logit - args.log_sums[n])) : 0.0;
    Scan(scratch).InclusiveSum(weight, ends[threadIdx.x]);
    __syncthreads();
    // The interval of a token begins exactly where the interval of the previous token ends, so each
    // uniform number falls into one interval.
    const double begin = threadIdx.x == 0 ? 0.0 : ends[threadIdx.x - 1];
    const std::size_t end = count_below(uniforms, args.draws, before + ends[threadIdx.x]);
    std::size_t draw = count_below(uniforms, args.draws, before + begin);
    for (; weight > 0.0 && draw < end; ++draw)
      args.ids[n * args.draws + draw] = args.first_id + static_cast<std::int64_t>(i);
    before += ends[kThreads - 1];
    __syncthreads();  // the next tile overwrites `ends`
  }
  if (threadIdx.x == 0) args.reached[n] = before;
}

}  // namespace

void draw_with_replacement(const DrawWithReplacementArgs& args, CUstream_st* stream) {
  if (args.rows == 0 || args.block == 0 || args.draws == 0) return;
  draw_with_replacement_kernel<<<static_cast<unsigned>(args.rows), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
