#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mgpu/lm/parallel/shard_plan.hpp>

// How a batch goes through a group of ranks: what the Generator does, and its memory plan counts.
namespace mgpu::lm {

inline constexpr std::size_t kPassesInOutbox = 2;  // that wait for the next rank

/// Batches that take turns: one more than ranks, so that the next is there when its rank is done
/// with one.
constexpr std::int64_t batches_in_turn(Split split, std::int64_t ranks) {
  return split == Split::pipeline && ranks > 1 ? ranks + 1 : 1;
}

/// Sequences of one of them.
constexpr std::int64_t share_of_batch(std::int64_t batch_size, std::int64_t batches) {
  return (batch_size + batches - 1) / batches;
}

/// Prompt tokens of one pass, at most.
constexpr std::int64_t share_of_prefill(std::int64_t prefill_tokens, std::int64_t batches) {
  return std::max<std::int64_t>(1, prefill_tokens / batches);
}

/// Sequences that fill passes where nothing is completed: one that is half seen, one that begins,
/// and as many short ones as a pass has room for.
constexpr std::int64_t scored_sequences(std::int64_t batch_share, std::int64_t prefill_share,
                                        std::int64_t longest) {
  return std::min(batch_share, prefill_share / std::max<std::int64_t>(1, longest) + 2);
}

/// Sequences in the cache. A prompt whose completions come and go stays beside them.
constexpr std::int64_t cached_sequences(std::int64_t batch_share, std::int64_t batches,
                                        bool has_forks) {
  return batches * (batch_share + (has_forks ? 1 : 0));
}

}  // namespace mgpu::lm
