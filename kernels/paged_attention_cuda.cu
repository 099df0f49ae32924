// Each thread block of four warps processes one head of one query. Each warp processes every fourth
// key. The lanes of a warp hold the head's columns. Each warp keeps an online-softmax state
// (Running), and the four states are merged at the end.
#include <bit>
#include <cmath>
#include <cstdint>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/paged_attention.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kWarps = 4;
constexpr unsigned kParts = kMaxPagedHeadDim / kWarp;  // columns per lane

/// The online-softmax state of one warp: maximum, sum of the exponentials, weighted sum of values.
struct Running {
  float top = -INFINITY;
  float sum = 0.0F;
  float values[kParts] = {};
};

__device__ float warp_sum(float x) {
  for (unsigned offset = kWarp / 2; offset > 0; offset /= 2)
    x += __shfl_xor_sync(~0U, x, offset);
  return x;
}

__device__ std::int64_t slot_of(const PagedAttentionArgs& args, std::size_t n, std::int64_t t) {
  const auto page = static_cast<std::int64_t>(args.page_tokens);
  const auto pitch = static_cast<std::int64_t>(args.page_pitch);
  return args.page_slots[args.sequences[n] * pitch + t / page] + t % page;
}

/// Pointers to the cached keys and values, whose type is T.
template <class T>
struct Stored {
  const T* keys;
  const T* values;
};

__device__ float widened(float x) {
  return x;
}

__device__ float widened(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// Adds one key and its value to the online-softmax state of the warp. `line` is the index of the
/// first element of the key in stored.keys, and of the value in stored.values.
template <class T>
__device__ void add_key(const PagedAttentionArgs& args, const Stored<T>& stored,
                        const float (&query)[kParts], std::size_t line, Running& seen) {
  const unsigned lane = threadIdx.x % kWarp;
  float product = 0.0F;
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part) {
    const unsigned c = part * kWarp + lane;
    if (c < args.head_dim) product += query[part] * widened(stored.keys[line + c]);
  }
  const float score = warp_sum(product) * args.scale;
  const float top = fmaxf(seen.top, score);
  const float shrink = expf(seen.top - top);
  const float weight = expf(score - top);
  seen.top = top;
  seen.sum = seen.sum * shrink + weight;
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part) {
    const unsigned c = part * kWarp + lane;
    if (c < args.head_dim)
      seen.values[part] = seen.values[part] * shrink + weight * widened(stored.values[line + c]);
  }
}

/// Merges the states of the warps and the attention sink, and writes the result to `out`. A sink of
/// -infinity means that there is no sink. All threads of the block must call this function.
__device__ void join(const PagedAttentionArgs& args, const Running& seen, float sink, float* out) {
  __shared__ float tops[kWarps];
  __shared__ float sums[kWarps];
  __shared__ float values[kWarps][kMaxPagedHeadDim];
  const unsigned lane = threadIdx.x % kWarp;
  const unsigned warp = threadIdx.x / kWarp;
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part)
    values[warp][part * kWarp + lane] = seen.values[part];
  if (lane == 0) {
    tops[warp] = seen.top;
    sums[warp] = seen.sum;
  }
  __syncthreads();
  float top = sink;
  for (const float other : tops)
    top = fmaxf(top, other);
  for (unsigned c = threadIdx.x; c < args.head_dim; c += kWarp * kWarps) {
    float sum = expf(sink - top);
    float value = 0.0F;
    for (unsigned w = 0; w < kWarps; ++w) {
      const float factor = expf(tops[w] - top);  // 0 for a warp without keys
      sum += sums[w] * factor;
      value += values[w][c] * factor;
    }
    out[c] = value / sum;
  }
}

template <class T>
__global__ void paged_attention_kernel(PagedAttentionArgs args, Stored<T> stored) {
  const std::size_t n = blockIdx.x / args.heads;
  const std::size_t head = blockIdx.x % args.heads;
  const std::size_t group = head / (args.heads / args.kv_heads);
  const unsigned lane = threadIdx.x % kWarp;
  const std::size_t first_column = (n * args.heads + head) * args.head_dim;
  float query[kParts];
#pragma unroll
  for (unsigned part = 0; part < kParts; ++part) {
    const unsigned c = part * kWarp + lane;
    query[part] = c < args.head_dim ? args.queries[first_column + c] : 0.0F;
  }
  const std::int64_t end = args.positions[n] + 1;
  const std::int64_t first = args.window == 0 || end <= args.window ? 0 : end - args.window;
  Running seen;
  for (std::int64_t t = first + threadIdx.x / kWarp; t < end; t += kWarps) {
    const auto slot = static_cast<std::size_t>(slot_of(args, n, t));
    add_key(args, stored, query, (slot * args.kv_heads + group) * args.head_dim, seen);
  }
  const float sink = args.sinks == nullptr ? -INFINITY : args.sinks[head];
  join(args, seen, sink, args.out + first_column);
}

}  // namespace

void paged_attention(const PagedAttentionArgs& args, CUstream_st* stream) {
  if (args.head_dim == 0 || args.head_dim > kMaxPagedHeadDim)
    throw ShapeError("paged_attention: the head is not 1 to 256 wide");
  if (args.kv_heads == 0 || args.heads % args.kv_heads != 0)
    throw ShapeError("paged_attention: key heads do not divide query heads");
  const std::size_t blocks = args.num_queries * args.heads;
  if (blocks == 0) return;
  const auto grid = static_cast<unsigned>(blocks);
  if (args.half_keys != nullptr)
    paged_attention_kernel<std::uint16_t><<<grid, kWarp * kWarps, 0, stream>>>(
        args, Stored<std::uint16_t>{args.half_keys, args.half_values});
  else
    paged_attention_kernel<float>
        <<<grid, kWarp * kWarps, 0, stream>>>(args, Stored<float>{args.keys, args.values});
  check_launch();
}

}  // namespace mgpu::kernels::cuda
