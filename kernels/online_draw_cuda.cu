// Each thread block processes one row of one block of the vocabulary. It computes the largest score
// and the sum of the exponentials of the scores. If a token of this vocabulary block replaces the
// sampled token, the thread block scans the scores in tiles until it finds the new token.
#include <cmath>

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include <mgpu/kernels/online_draw.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;
using Floats = cub::BlockReduce<float, kThreads>;
using Doubles = cub::BlockReduce<double, kThreads>;
using Places = cub::BlockReduce<int, kThreads>;
using Scan = cub::BlockScan<double, kThreads>;

union Scratch {
  typename Floats::TempStorage floats;
  typename Doubles::TempStorage doubles;
  typename Places::TempStorage places;
  typename Scan::TempStorage scan;
};

struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

struct Smaller {
  __device__ int operator()(int a, int b) const { return a < b ? a : b; }
};

/// Returns, on all threads of the block, the `value` of thread 0.
template <class T>
__device__ T shared_by_all(T value) {
  __shared__ T common;
  __syncthreads();
  if (threadIdx.x == 0) common = value;
  __syncthreads();
  return common;
}

__device__ float block_top(const float* scores, std::size_t count, Scratch& scratch) {
  float mine = -INFINITY;
  for (std::size_t i = threadIdx.x; i < count; i += kThreads)
    mine = fmaxf(mine, scores[i]);
  return shared_by_all(Floats(scratch.floats).Reduce(mine, Larger()));
}

__device__ double block_sum(const float* scores, std::size_t count, double top, Scratch& scratch) {
  double mine = 0.0;
  for (std::size_t i = threadIdx.x; i < count; i += kThreads)
    mine += exp(static_cast<double>(scores[i]) - top);
  return shared_by_all(Doubles(scratch.doubles).Sum(mine));
}

/// Returns the first index at which the sum of weights exp(score - top) exceeds `aim`. If the sum
/// never exceeds `aim`, returns the index of the last positive weight.
__device__ int place_in(const float* scores, std::size_t count, double top, double aim,
                        Scratch& scratch) {
  constexpr int kNowhere = 0x7fffffff;
  double before = 0.0;
  int last = -1;
  for (std::size_t tile = 0; tile < count; tile += kThreads) {
    const std::size_t i = tile + threadIdx.x;
    const double weight = i < count ? exp(static_cast<double>(scores[i]) - top) : 0.0;
    double reached = 0.0;
    double total = 0.0;
    Scan(scratch.scan).InclusiveSum(weight, reached, total);
    __syncthreads();
    const bool is_hit = weight > 0.0 && before + reached > aim;
    const int mine = is_hit ? static_cast<int>(i) : kNowhere;
    const int hit = shared_by_all(Places(scratch.places).Reduce(mine, Smaller()));
    if (hit != kNowhere) return hit;
    const int positive = weight > 0.0 ? static_cast<int>(i) : last;
    last = shared_by_all(Places(scratch.places).Reduce(positive, Larger()));
    before += total;
  }
  return last;
}

__global__ void online_draw_kernel(OnlineDrawArgs args) {
  __shared__ Scratch scratch;
  const std::size_t n = blockIdx.x;
  const float* scores = args.scores + n * args.block;
  const double highest = block_top(scores, args.block, scratch);
  if (highest == -INFINITY) return;
  const double old_top = args.tops[n];
  const double top = fmax(old_top, highest);
  const double sum = block_sum(scores, args.block, top, scratch);
  const double total = shared_by_all(args.sums[n] * exp(old_top - top) + sum);
  if (threadIdx.x == 0) {
    args.sums[n] = total;
    args.tops[n] = top;
  }
  if (!(args.uniforms[2 * n] * total < sum)) return;
  const int place = place_in(scores, args.block, top, args.uniforms[2 * n + 1] * sum, scratch);
  if (threadIdx.x != 0) return;
  args.ids[n] = args.first_id + place;
  args.picked[n] = args.logits[n * args.block + static_cast<std::size_t>(place)];
}

}  // namespace

void online_draw(const OnlineDrawArgs& args, CUstream_st* stream) {
  if (args.rows == 0 || args.block == 0) return;
  online_draw_kernel<<<static_cast<unsigned>(args.rows), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
