#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mgpu/lm/parallel/shard_plan.hpp>

// How a batch is split for a group of ranks. The Generator and its memory plan share these numbers.
namespace mgpu::lm {

inline constexpr std::size_t kPassesInSender = 2;  // passes queued for the next rank

/// Returns the number of batches that take turns. A pipeline has one batch more than ranks, so that
/// no rank waits for its next batch.
constexpr std::int64_t batches_in_turn(Split split, std::int64_t ranks) {
  return split == Split::pipeline && ranks > 1 ? ranks + 1 : 1;
}

/// Returns the number of sequences of one batch.
constexpr std::int64_t share_of_batch(std::int64_t batch_size, std::int64_t batches) {
  return (batch_size + batches - 1) / batches;
}

/// Returns the maximum number of prompt tokens per pass.
constexpr std::int64_t share_of_prefill(std::int64_t prefill_tokens, std::int64_t batches) {
  return std::max<std::int64_t>(1, prefill_tokens / batches);
}

/// Returns how many sequences of `longest` tokens the cache needs room for when prompts are only
/// scored. These are all that fit into one pass as a whole, and two that are processed in part.
constexpr std::int64_t scored_sequences(std::int64_t batch_share, std::int64_t prefill_share,
                                        std::int64_t longest) {
  return std::min(batch_share, prefill_share / std::max<std::int64_t>(1, longest) + 2);
}

/// Returns the number of sequences in the cache. A prompt with several completions keeps its own
/// sequence while they run.
constexpr std::int64_t cached_sequences(std::int64_t batch_share, std::int64_t batches,
                                        bool has_forks) {
  return batches * (batch_share + (has_forks ? 1 : 0));
}

}  // namespace mgpu::lm
