#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/kernels/paged_attention.hpp>

#include "random_values.hpp"

// Inputs for the CPU and CUDA kernels of decoders.
namespace mgpu::kernels {

struct AttentionSizes {
  std::size_t heads;
  std::size_t kv_heads;
  std::size_t head_dim;
  std::size_t page_tokens;
  std::int64_t window;
};

/// Two sequences of 73 and 3 tokens whose pages are in reverse order in the pool; every token of
/// both is a query.
struct AttentionCase {
  static constexpr std::size_t kLong = 73;  // nine tiles of queries plus one token
  static constexpr std::size_t kShort = 3;
  static constexpr std::size_t kQueries = kLong + kShort;

  explicit AttentionCase(const AttentionSizes& sizes)
      : pitch((kLong + sizes.page_tokens - 1) / sizes.page_tokens),
        queries(normals(kQueries * sizes.heads * sizes.head_dim, 1)),
        keys(normals(2 * pitch * sizes.page_tokens * sizes.kv_heads * sizes.head_dim, 2)),
        values(normals(keys.size(), 3)),
        sinks(normals(sizes.heads, 4, 3.0F)),
        args{} {
    for (std::size_t page = 2 * pitch; page > 0; --page)
      page_slots.push_back(static_cast<std::int64_t>((page - 1) * sizes.page_tokens));
    for (std::size_t n = 0; n < kQueries; ++n) {
      sequences.push_back(n < kLong ? 0 : 1);
      positions.push_back(static_cast<std::int64_t>(n < kLong ? n : n - kLong));
    }
    args.num_queries = kQueries;
    args.heads = sizes.heads;
    args.kv_heads = sizes.kv_heads;
    args.head_dim = sizes.head_dim;
    args.page_tokens = sizes.page_tokens;
    args.page_pitch = pitch;
    args.window = sizes.window;
    args.scale = 1.0F / std::sqrt(static_cast<float>(sizes.head_dim));
  }

  std::size_t pitch;
  std::vector<float> queries;
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<float> sinks;  // only for some tests
  std::vector<std::int64_t> page_slots;
  std::vector<std::int64_t> sequences;
  std::vector<std::int64_t> positions;
  PagedAttentionArgs args;  // sizes; the caller sets the pointers
};

/// Truncates the values to bfloat16, in place; returns the 16-bit numbers.
inline std::vector<std::uint16_t> halves_of(std::vector<float>& values) {
  std::vector<std::uint16_t> halves;
  for (float& value : values) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0xffff0000U;
    value = std::bit_cast<float>(bits);
    halves.push_back(static_cast<std::uint16_t>(bits >> 16));
  }
  return halves;
}

inline const std::vector<AttentionSizes>& attention_sizes() {
  static const std::vector<AttentionSizes> kSizes = {
      {1, 1, 1, 1, 0},   {4, 2, 8, 4, 0},     {6, 2, 17, 16, 5},
      {8, 1, 64, 16, 0}, {4, 4, 128, 32, 64}, {2, 1, 256, 128, 1},
  };
  return kSizes;
}

/// The state of online_logsumexp before the first block.
struct FoldState {
  FoldState(std::size_t rows, std::size_t best)
      : tops(rows, -std::numeric_limits<float>::infinity()),
        sums(rows, 0.0F),
        picked(rows, std::numeric_limits<float>::quiet_NaN()),
        best_logits(rows * best, -std::numeric_limits<float>::infinity()),
        best_ids(rows * best, -1) {}

  std::vector<float> tops;
  std::vector<float> sums;
  std::vector<float> picked;
  std::vector<float> best_logits;
  std::vector<std::int64_t> best_ids;
};

}  // namespace mgpu::kernels
