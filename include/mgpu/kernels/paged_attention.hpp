#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = queries of all sequences, S = sequences, C = width of a head,
// H = query heads, G = key heads. G divides H; query head h reads key head h / (H / G).
namespace mgpu::kernels {

inline constexpr std::size_t kMaxPagedHeadDim = 256;

/// The keys and values of each token are in one slot, as float32 or bfloat16. Queries, sinks and
/// outputs are float32. A cache page is `page_tokens` consecutive slots. Token t of sequence s is
/// in the slot page_slots[s * page_pitch + t / page_tokens] + t % page_tokens. Keys and values in
/// contiguous memory are the special case of consecutive cache pages.
struct PagedAttentionArgs {
  const float* queries;            // [N, H, C]
  const float* keys;               // [slots, G, C]
  const float* values;             // [slots, G, C]
  float* out;                      // [N, H, C] written
  const std::int64_t* page_slots;  // [S, page_pitch] first slot of each cache page
  const std::int64_t* sequences;   // [N] sequence of each query
  const std::int64_t* positions;   // [N] position of each query in its sequence; the query attends
                                   // to keys up to this position
  std::size_t num_queries;         // N
  std::size_t heads;               // H
  std::size_t kv_heads;            // G
  std::size_t head_dim;            // C <= kMaxPagedHeadDim
  std::size_t page_tokens;         // tokens per cache page
  std::size_t page_pitch;          // cache pages per sequence in page_slots
  std::int64_t window;  // number of keys that a query attends to, including its own; 0: all
  float scale;          // multiplies the product of query and key
  const float* sinks = nullptr;  // [H] score of the sink, a key without a value; nullptr: none

  // bfloat16 numbers that replace `keys` and `values`; nullptr: not used.
  const std::uint16_t* half_keys = nullptr;    // [slots, G, C] bfloat16
  const std::uint16_t* half_values = nullptr;  // [slots, G, C] bfloat16
};

/// Computes out = softmax(scale * Q K^T) V. The softmax is over the sink and the keys up to the
/// query's position that are in its window. The CPU kernel has the scores of at most 8 queries in
/// memory at a time, and the CUDA kernel stores no scores. On one machine the bits of a query's
/// result depend only on its sequence up to the query. They do not depend on other queries, on the
/// cache pages, or on how the queries are divided into calls.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda). cpu allocates one row of
///         scores per query head for each of up to 8 queries.
/// Errors: ShapeError when C is not 1 to kMaxPagedHeadDim or G does not divide H; cpu also
///         std::bad_alloc; cuda also LibraryError, and NotBuiltError in a build without CUDA. cuda
///         returns before the work is done.
/// Source: Kwon et al., SOSP 2023 (pages); Xiao et al., arXiv 2309.17453 (sinks); Milakov and
///         Gimelshein, arXiv 1805.02867 (running maximum).
namespace cpu {
void paged_attention(const PagedAttentionArgs& args);
}
namespace cuda {
void paged_attention(const PagedAttentionArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
