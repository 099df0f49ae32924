// The kernels accumulate float32 sums in registers, and keep keys and values (or queries) in shared
// memory. A Philox block has eight random 16-bit numbers, which belong to keys of the same dropout
// run. A tile of keys is one such run (kDropoutRun keys), so a thread uses all eight numbers. In
// the backward pass, if a head has more than 32 columns, two threads share each line (query, key or
// value). The registers of one thread could not hold the vectors of such a line.
#include <mgpu/base/error.hpp>
#include <mgpu/kernels/causal_attention.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 128;
constexpr unsigned kTileKeys = kDropoutRun;
constexpr unsigned kTileQueries = 32;
static_assert(kTileKeys == kThreads, "one thread or two per key in grad_keys_kernel");

/// The columns of a line that one thread processes. A line is the query, key or value of one token
/// in one head. The kParts threads of a line are neighbors in a warp.
template <unsigned kColumns, unsigned kParts>
struct LinePart {
  static constexpr unsigned kDim = kColumns * kParts;

  /// Returns the index of the line in the thread block.
  static __device__ unsigned number() { return threadIdx.x / kParts; }
  static __device__ unsigned first() { return threadIdx.x % kParts * kColumns; }

  /// Returns, on each thread of the line, the sum of `value` over the threads of the line.
  static __device__ float sum(float value) {
    static_assert(kParts <= 2);
    if (kParts == 1) return value;
    const unsigned pair = 3U << (threadIdx.x % 32 & ~1U);
    return value + __shfl_xor_sync(pair, value, 1);
  }
};

/// The sample, the head and the first token that a thread block processes.
struct Place {
  std::size_t row;
  std::size_t head;
  std::size_t first;  // first token

  __device__ explicit Place(const CausalAttentionArgs& args) {
    const std::size_t tiles = (args.tokens + kThreads - 1) / kThreads;
    first = blockIdx.x % tiles * kThreads;
    head = blockIdx.x / tiles % args.heads;
    row = blockIdx.x / tiles / args.heads;
  }
};

/// Returns the offset of a token's line in a tensor [B, T, parts, H, C], for B samples of T tokens
/// with H heads of width C.
__device__ std::size_t offset(const CausalAttentionArgs& args, const Place& place,
                              std::size_t token, unsigned parts, unsigned part) {
  return (((place.row * args.tokens + token) * parts + part) * args.heads + place.head) *
         args.head_dim;
}

/// Loads columns `first` to first + kColumns - 1 of the line `from`, multiplied by a factor and
/// padded with zeros.
template <unsigned kColumns>
__device__ void load_line(const CausalAttentionArgs& args, const float* from, unsigned first,
                          float factor, float (&to)[kColumns]) {
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c)
    to[c] = first + c < args.head_dim ? from[first + c] * factor : 0.0F;
}

template <unsigned kColumns>
__device__ void store_line(const CausalAttentionArgs& args, const float (&from)[kColumns],
                           unsigned first, float factor, float* to) {
#pragma unroll
  for (unsigned c = 0; c < kColumns; ++c)
    if (first + c < args.head_dim) to[first + c] = from[c] * factor;
}

/// Loads the lines of `count` tokens, from token `first` on, into shared memory [count, kDim].
/// Elements of tokens or columns that do not exist become 0. All threads of the block must call
/// this function.
template <unsigned kDim>
__device__ void load_tile(const CausalAttentionArgs& args, const Place& place, const float* from,
                          std::size_t first, unsigned count, unsigned parts, unsigned part,
                          float* to) {
  for (unsigned e = threadIdx.x; e < count * kDim; e += blockDim.x) {
    const std::size_t token = first + e / kDim;
    const unsigned c = e % kDim;
    const bool exists = token < args.tokens && c < args.head_dim;
    to[e] = exists ? from[offset(args, place, token, parts, part) + c] : 0.0F;
  }
}

template <unsigned kDim>
__device__ float dot(const float (&a)[kDim], const float* b) {
  float sum = 0.0F;
#pragma unroll
  for (unsigned c = 0; c < kDim; ++c)
    sum += a[c] * b[c];
  return sum;
}

template <unsigned kDim>
__device__ void add(float factor, const float* x, float (&sum)[kDim]) {
#pragma unroll
  for (unsigned c = 0; c < kDim; ++c)
    sum[c] += factor * x[c];
}

/// Returns a mask of 8 bits. Bit m is 1 if dropout keeps key first_key + 16 m + lane for the query.
/// The argument `first_key` is a multiple of kDropoutRun, and `lane` is 0 to 15.
__device__ unsigned kept_bits(const CausalAttentionArgs& args, const Place& place,
                              std::size_t query, std::size_t first_key, unsigned lane) {
  if (args.dropout.threshold == 0) return 0xFF;
  const RandomStream stream(args.dropout.seed, kDropoutMasks, args.dropout.site,
                            static_cast<std::uint64_t>(args.samples[place.row]));
  const std::size_t element = (query * args.heads + place.head) * kAttentionPitch + first_key;
  const Philox4 words = stream.block(static_cast<std::uint32_t>(element / 8 + lane));
  unsigned bits = 0;
#pragma unroll
  for (unsigned m = 0; m < 8; ++m)
    bits |=
        static_cast<unsigned>(((words[m / 2] >> (m % 2 * 16)) & 0xFFFF) >= args.dropout.threshold)
        << m;
  return bits;
}

/// Calls visit(key - first_key, kept) for each key of the tile that is not after the query, in a
/// fixed order. `kept` is true if dropout keeps the key.
template <class Visit>
__device__ void visit_keys(const CausalAttentionArgs& args, const Place& place, std::size_t query,
                           std::size_t first_key, const Visit& visit) {
  for (unsigned lane = 0; lane < 16 && first_key + lane <= query; ++lane) {
    const unsigned bits = kept_bits(args, place, query, first_key, lane);
    for (unsigned m = 0; m < 8; ++m) {
      const unsigned key = 16 * m + lane;
      if (first_key + key > query) break;
      visit(key, (bits >> m & 1U) != 0);
    }
  }
}

/// Computes the outputs with an online softmax. Each thread processes one query. Each thread block
/// processes up to 128 queries of a head.
template <unsigned kDim>
__global__ void __launch_bounds__(kThreads) forward_kernel(CausalAttentionArgs args) {
  extern __shared__ float shared[];  // keys, then values of a tile
  float* values = shared + kTileKeys * kDim;
  const Place place(args);
  const std::size_t query = place.first + threadIdx.x;
  const bool exists = query < args.tokens;
  float q[kDim] = {};
  float sums[kDim] = {};
  float top = -INFINITY;
  float total = 0.0F;
  if (exists)
    load_line(args, args.qkv + offset(args, place, query, 3, 0), 0,
              rsqrtf(static_cast<float>(args.head_dim)), q);

  for (std::size_t first = 0; first <= place.first; first += kTileKeys) {
    __syncthreads();  // all threads have finished the previous tile
    load_tile<kDim>(args, place, args.qkv, first, kTileKeys, 3, 1, shared);
    load_tile<kDim>(args, place, args.qkv, first, kTileKeys, 3, 2, values);
    __syncthreads();
    if (!exists) continue;
    visit_keys(args, place, query, first, [&](unsigned key, bool keep) {
      const float score = dot(q, shared + key * kDim);
      if (score > top) {
        const float shrink = expf(top - score);
        total *= shrink;
#pragma unroll
        for (unsigned c = 0; c < kDim; ++c)
          sums[c] *= shrink;
        top = score;
      }
      const float e = expf(score - top);
      total += e;
      if (keep) add(e, values + key * kDim, sums);
    });
  }
  if (!exists) return;
  store_line(args, sums, 0, args.dropout.scale() / total,
             args.out + offset(args, place, query, 1, 0));
  args.log_sums[(place.row * args.heads + place.head) * args.tokens + query] = top + logf(total);
}

/// Computes the gradient of the queries, with kParts threads per query.
template <unsigned kColumns, unsigned kParts>
__global__ void __launch_bounds__(kThreads* kParts)
    grad_queries_kernel(CausalAttentionGradArgs grad) {
  using Line = LinePart<kColumns, kParts>;
  constexpr unsigned kDim = Line::kDim;
  const CausalAttentionArgs& args = grad.forward;
  extern __shared__ float shared[];  // keys, then values of a tile
  float* values = shared + kTileKeys * kDim;
  const Place place(args);
  const std::size_t query = place.first + Line::number();
  const bool exists = query < args.tokens;
  const float scale = rsqrtf(static_cast<float>(args.head_dim));
  float q[kColumns] = {};
  float grad_out[kColumns] = {};
  float sums[kColumns] = {};
  float log_sum = 0.0F;
  float delta = 0.0F;
  if (exists) {
    load_line(args, args.qkv + offset(args, place, query, 3, 0), Line::first(), scale, q);
    load_line(args, grad.grad_out + offset(args, place, query, 1, 0), Line::first(), 1.0F,
              grad_out);
    for (unsigned c = 0; c < args.head_dim; ++c) {
      const std::size_t at = offset(args, place, query, 1, 0) + c;
      delta += grad.grad_out[at] * args.out[at];
    }
    log_sum = args.log_sums[(place.row * args.heads + place.head) * args.tokens + query];
  }

  for (std::size_t first = 0; first <= place.first; first += kTileKeys) {
    __syncthreads();  // all threads have finished the previous tile
    load_tile<kDim>(args, place, args.qkv, first, kTileKeys, 3, 1, shared);
    load_tile<kDim>(args, place, args.qkv, first, kTileKeys, 3, 2, values);
    __syncthreads();
    if (!exists) continue;
    visit_keys(args, place, query, first, [&](unsigned key, bool keep) {
      const float* k = shared + key * kDim + Line::first();
      const float* v = values + key * kDim + Line::first();
      const float p = expf(Line::sum(dot(q, k)) - log_sum);
      const float grad_p = keep ? args.dropout.scale() * Line::sum(dot(grad_out, v)) : 0.0F;
      add(p * (grad_p - delta), k, sums);
    });
  }
  if (exists)
    store_line(args, sums, Line::first(), scale, grad.grad_qkv + offset(args, place, query, 3, 0));
}

/// A tile of queries in shared memory. All threads of a block of grad_keys_kernel read the tile.
template <unsigned kDim>
struct QueryTile {
  float q[kTileQueries * kDim];
  float grad_out[kTileQueries * kDim];
  float log_sum[kTileQueries];
  float delta[kTileQueries];
  unsigned char kept[kTileQueries * 16];  // kept_bits() of each query and lane
};

/// Loads the tile of queries that begins with query `first`. All threads of the block must call
/// this function.
template <unsigned kDim>
__device__ void load_queries(const CausalAttentionGradArgs& grad, const Place& place,
                             std::size_t first, QueryTile<kDim>& tile) {
  const CausalAttentionArgs& args = grad.forward;
  load_tile<kDim>(args, place, args.qkv, first, kTileQueries, 3, 0, tile.q);
  load_tile<kDim>(args, place, grad.grad_out, first, kTileQueries, 1, 0, tile.grad_out);
  for (unsigned e = threadIdx.x; e < kTileQueries * 16; e += blockDim.x)
    if (first + e / 16 < args.tokens)
      tile.kept[e] =
          static_cast<unsigned char>(kept_bits(args, place, first + e / 16, place.first, e % 16));
  const std::size_t query = first + threadIdx.x;
  if (threadIdx.x < kTileQueries && query < args.tokens) {
    float delta = 0.0F;
    for (unsigned c = 0; c < args.head_dim; ++c) {
      const std::size_t at = offset(args, place, query, 1, 0) + c;
      delta += grad.grad_out[at] * args.out[at];
    }
    tile.delta[threadIdx.x] = delta;
    tile.log_sum[threadIdx.x] =
        args.log_sums[(place.row * args.heads + place.head) * args.tokens + query];
  }
}

/// Computes the gradients of keys and values with kParts threads per key. Each thread adds its
/// terms in query order, without atomics.
template <unsigned kColumns, unsigned kParts>
__global__ void __launch_bounds__(kThreads* kParts) grad_keys_kernel(CausalAttentionGradArgs grad) {
  using Line = LinePart<kColumns, kParts>;
  constexpr unsigned kDim = Line::kDim;
  const CausalAttentionArgs& args = grad.forward;
  __shared__ QueryTile<kDim> tile;
  const Place place(args);
  const unsigned number = Line::number();
  const std::size_t key = place.first + number;
  const bool exists = key < args.tokens;
  const float scale = rsqrtf(static_cast<float>(args.head_dim));
  float k[kColumns] = {};
  float v[kColumns] = {};
  float grad_k[kColumns] = {};
  float grad_v[kColumns] = {};
  if (exists) {
    load_line(args, args.qkv + offset(args, place, key, 3, 1), Line::first(), scale, k);
    load_line(args, args.qkv + offset(args, place, key, 3, 2), Line::first(), 1.0F, v);
  }

  for (std::size_t first = place.first; first < args.tokens; first += kTileQueries) {
    __syncthreads();  // all threads have finished the previous tile
    load_queries(grad, place, first, tile);
    __syncthreads();
    if (!exists) continue;
    for (unsigned i = 0; i < kTileQueries && first + i < args.tokens; ++i) {
      if (key > first + i) continue;
      const bool keep = (tile.kept[i * 16 + number % 16] >> (number / 16) & 1U) != 0;
      const float factor = keep ? args.dropout.scale() : 0.0F;
      const float* q = tile.q + i * kDim + Line::first();
      const float* grad_out = tile.grad_out + i * kDim + Line::first();
      const float p = expf(Line::sum(dot(k, q)) - tile.log_sum[i]);
      const float grad_p = factor * Line::sum(dot(v, grad_out));
      add(p * (grad_p - tile.delta[i]), q, grad_k);
      add(p * factor, grad_out, grad_v);
    }
  }
  if (!exists) return;
  store_line(args, grad_k, Line::first(), scale, grad.grad_qkv + offset(args, place, key, 3, 1));
  store_line(args, grad_v, Line::first(), 1.0F, grad.grad_qkv + offset(args, place, key, 3, 2));
}

unsigned blocks_of(const CausalAttentionArgs& args) {
  const std::size_t tiles = (args.tokens + kThreads - 1) / kThreads;
  return static_cast<unsigned>(tiles * args.heads * args.rows);
}

/// Returns the size of a tile of keys and values in bytes. If it is more than 48 KiB, sets the
/// kernel attribute that allows so much shared memory.
template <unsigned kDim, class Kernel>
unsigned tile_bytes(Kernel kernel) {
  constexpr unsigned kBytes = 2 * kTileKeys * kDim * sizeof(float);
  if (kBytes > 48 * 1024)
    cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kBytes)));
  return kBytes;
}

template <unsigned kDim>
void launch(const CausalAttentionArgs& args, CUstream_st* stream) {
  forward_kernel<kDim>
      <<<blocks_of(args), kThreads, tile_bytes<kDim>(forward_kernel<kDim>), stream>>>(args);
  check_launch();
}

template <unsigned kColumns, unsigned kParts>
void launch_grad(const CausalAttentionGradArgs& args, CUstream_st* stream) {
  const unsigned blocks = blocks_of(args.forward);
  const unsigned bytes = tile_bytes<kColumns * kParts>(grad_queries_kernel<kColumns, kParts>);
  grad_queries_kernel<kColumns, kParts><<<blocks, kThreads * kParts, bytes, stream>>>(args);
  check_launch();
  grad_keys_kernel<kColumns, kParts><<<blocks, kThreads * kParts, 0, stream>>>(args);
  check_launch();
}

/// Throws ShapeError if the arguments are not supported. Returns whether the output has any
/// elements.
bool check(const CausalAttentionArgs& args) {
  if (args.head_dim == 0 || args.head_dim > kMaxHeadDim)
    throw ShapeError("causal_attention: the head is not 1 to 64 wide");
  if (args.tokens > kAttentionPitch) throw ShapeError("causal_attention: too many tokens");
  return args.rows * args.tokens * args.heads > 0;
}

}  // namespace

void causal_attention(const CausalAttentionArgs& args, CUstream_st* stream) {
  if (!check(args)) return;
  if (args.head_dim <= 8) return launch<8>(args, stream);
  if (args.head_dim <= 16) return launch<16>(args, stream);
  if (args.head_dim <= 32) return launch<32>(args, stream);
  launch<64>(args, stream);
}

void causal_attention_grad(const CausalAttentionGradArgs& args, CUstream_st* stream) {
  if (!check(args.forward)) return;
  const std::size_t head_dim = args.forward.head_dim;
  if (head_dim <= 8) return launch_grad<8, 1>(args, stream);
  if (head_dim <= 16) return launch_grad<16, 1>(args, stream);
  if (head_dim <= 32) return launch_grad<32, 1>(args, stream);
  launch_grad<32, 2>(args, stream);
}

}  // namespace mgpu::kernels::cuda
