#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mgpu/lm/parallel/shard_plan.hpp>

// Functions that split the batch of a Generator into smaller batches, which a pipeline processes at
// the same time. The Generator and the memory plan (src/lm/parallel/memory_plan.cpp) use them.
namespace mgpu::lm {

inline constexpr std::size_t kPassesInSender = 2;  // largest number of passes whose outputs are
                                                   // queued for the next rank

/// Returns the number of smaller batches into which the batch of a Generator is split. In a
/// pipeline of several ranks, the result is the number of ranks + 1, so that no rank waits for its
/// next batch. Otherwise the result is 1.
constexpr std::int64_t batches_in_turn(Split split, std::int64_t ranks) {
  return split == Split::pipeline && ranks > 1 ? ranks + 1 : 1;
}

/// Returns the largest number of sequences in one of the smaller batches.
constexpr std::int64_t share_of_batch(std::int64_t batch_size, std::int64_t batches) {
  return (batch_size + batches - 1) / batches;
}

/// Returns the largest number of prompt tokens in one pass of a smaller batch.
constexpr std::int64_t share_of_prefill(std::int64_t prefill_tokens, std::int64_t batches) {
  return std::max<std::int64_t>(1, prefill_tokens / batches);
}

/// Returns for how many sequences the cache needs room when prompts are only scored; at most
/// batch_share. `longest` is the number of tokens of the longest sequence. A pass of prefill_share
/// tokens can process prefill_share / longest whole sequences of that length. It can also process
/// parts of two more sequences, at its start and at its end.
constexpr std::int64_t scored_sequences(std::int64_t batch_share, std::int64_t prefill_share,
                                        std::int64_t longest) {
  return std::min(batch_share, prefill_share / std::max<std::int64_t>(1, longest) + 2);
}

/// Returns the largest number of sequences in the cache. `has_forks` is true if prompts have
/// several completions. In this case, each smaller batch also keeps the sequence of one prompt,
/// from which the completions of the prompt are forked.
constexpr std::int64_t cached_sequences(std::int64_t batch_share, std::int64_t batches,
                                        bool has_forks) {
  return batches * (batch_share + (has_forks ? 1 : 0));
}

}  // namespace mgpu::lm
