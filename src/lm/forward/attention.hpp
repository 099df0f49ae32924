#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: N = tokens of all spans, S = spans, H = query heads, G = key heads, C =
// head width.
namespace mgpu::lm {

/// The positions of the tokens of a pass in their sequences, and the slots of the keys and values
/// to which they attend. A slot is the index of a row in the tensors of keys and values.
struct AttentionIndex {
  at::Tensor positions;          // [N] int64 position of the token in its sequence
  at::Tensor sequences;          // [N] int64 index of the token's SequenceSpan
  at::Tensor page_slots;         // [S, pages] int64 first slot of each page of a span's sequence
  at::Tensor slots;              // [N] int64 slot of the token; undefined without a cache
  std::int64_t page_tokens = 1;  // slots per page
};

/// Returns `values` as an int64 tensor on the device of `like`.
at::Tensor integers(const std::vector<std::int64_t>& values, const at::Tensor& like);

/// Returns the slot of the first token of each cache page of the sequences, [sequences, pages]
/// int64. The rows of sequences with fewer pages are padded with 0.
at::Tensor page_table(std::span<const std::int64_t> sequences, const PagedCache& cache,
                      const at::Tensor& like);

/// Returns the AttentionIndex for a pass without a cache. The key of token i of the pass is in slot
/// i, and each span is one page.
AttentionIndex index_without_cache(std::span<const SequenceSpan> spans, const at::Tensor& like);

/// Returns the AttentionIndex for keys in the cache. Call cache.extend() for all spans first.
AttentionIndex index_in_cache(std::span<const SequenceSpan> spans, const PagedCache& cache,
                              const at::Tensor& like);

/// Returns the attention outputs, [N, H * C].
///
/// Shapes: q [N, H, C] float32; keys, values [slots, G, C], both float32 or both bfloat16; sinks
///         [H] float32, or undefined
at::Tensor attend(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                  const AttentionIndex& index, const LayerConfig& layer, const at::Tensor& sinks);

}  // namespace mgpu::lm
