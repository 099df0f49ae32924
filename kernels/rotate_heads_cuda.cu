// Each block processes one head of one token at a time. Each thread processes one pair of columns.
// Values are read once and stay in registers for both norm and rotation.
#include <cub/block/block_reduce.cuh>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/rotate_heads.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kMaxPairs = 512;

/// Returns 1 / sqrt(mean(x^2) + epsilon) of the head, on all threads.
template <unsigned kThreads>
__device__ float norm_scale(float first, float second, const RotateHeadsArgs& args) {
  using Reduce = cub::BlockReduce<float, kThreads>;
  __shared__ typename Reduce::TempStorage scratch;
  __shared__ float scale;
  const float sum = Reduce(scratch).Sum(first * first + second * second);
  if (threadIdx.x == 0) scale = 1.0F / sqrtf(sum / static_cast<float>(args.columns) + args.epsilon);
  __syncthreads();
  const float result = scale;
  __syncthreads();  // the next head overwrites `scratch` and `scale`
  return result;
}

template <unsigned kThreads>
__global__ void rotate_heads_kernel(RotateHeadsArgs args) {
  const std::size_t half = args.columns / 2;
  const std::size_t c = threadIdx.x;
  const bool is_pair = c < half;
  for (std::size_t head = blockIdx.x; head < args.tokens * args.heads; head += gridDim.x) {
    const float* x = args.x + head * args.columns;
    float first = is_pair ? x[c] : 0.0F;
    float second = is_pair ? x[half + c] : 0.0F;
    if (args.weight != nullptr) {
      const float scale = norm_scale<kThreads>(first, second, args);
      first *= scale * (is_pair ? args.weight[c] : 0.0F);
      second *= scale * (is_pair ? args.weight[half + c] : 0.0F);
    }
    if (!is_pair) continue;
    const std::size_t angle = head / args.heads * half + c;
    float* out = args.out + head * args.columns;
    out[c] = first * args.cosine[angle] - second * args.sine[angle];
    out[half + c] = second * args.cosine[angle] + first * args.sine[angle];
  }
}

template <unsigned kThreads>
void launch(const RotateHeadsArgs& args, CUstream_st* stream) {
  const unsigned blocks = blocks_for(args.tokens * args.heads, 1);
  rotate_heads_kernel<kThreads><<<blocks, kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace

void rotate_heads(const RotateHeadsArgs& args, CUstream_st* stream) {
  if (args.columns % 2 != 0) throw ShapeError("rotate_heads: an odd number of columns");
  if (args.columns / 2 > kMaxPairs) throw ShapeError("rotate_heads: more than 1024 columns");
  if (args.tokens == 0 || args.heads == 0 || args.columns == 0) return;
  if (args.columns <= 64) return launch<32>(args, stream);
  if (args.columns <= 128) return launch<64>(args, stream);
  if (args.columns <= 256) return launch<128>(args, stream);
  launch<kMaxPairs>(args, stream);
}

}  // namespace mgpu::kernels::cuda
