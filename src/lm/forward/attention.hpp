#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: N = tokens of all runs, S = runs, H = query heads, G = key heads, C =
// head width.
namespace mgpu::lm {

/// Where the tokens of a call stand in their sequences, and their keys in memory.
struct TokenPlaces {
  at::Tensor positions;   // [N] int64 number of the token in its sequence
  at::Tensor sequences;   // [N] int64 run of the token
  at::Tensor page_slots;  // [S, pages] int64
  at::Tensor slots;       // [N] int64 where keys and values go; undefined without a cache
  std::int64_t page_tokens = 1;
};

/// Whole numbers on the device of `like`.
at::Tensor integers(const std::vector<std::int64_t>& values, const at::Tensor& like);

/// First slot of each page of sequences, [S, pages] int64.
at::Tensor page_table(std::span<const std::int64_t> sequences, const PagedCache& cache,
                      const at::Tensor& like);

/// Keys one after the other, as they come out of the projection.
TokenPlaces places_without_cache(std::span<const TokenRun> runs, const at::Tensor& like);

/// After cache.extend() of all runs.
TokenPlaces places_in_cache(std::span<const TokenRun> runs, const PagedCache& cache,
                            const at::Tensor& like);

/// Shapes: q [N, H, C]; keys, values [slots, G, C], float32 or both bfloat16; sinks [H] or
///         undefined; all else float32. Returns [N, H * C]
at::Tensor attend(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                  const TokenPlaces& places, const LayerConfig& layer, const at::Tensor& sinks);

}  // namespace mgpu::lm
