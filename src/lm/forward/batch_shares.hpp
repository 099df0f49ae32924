#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <mgpu/lm/parallel/shard_plan.hpp>

// Splits the batch of a Generator over a group of ranks. The Generator and its memory plan use the
// same functions.
namespace mgpu::lm {

inline constexpr std::size_t kPassesInSender = 2;  // passes queued for the next rank

/// Returns the number of smaller batches into which the batch of a Generator is split. On a
/// pipeline it is the number of ranks + 1, so that no rank waits for its next batch; otherwise it
/// is 1.
constexpr std::int64_t batches_in_turn(Split split, std::int64_t ranks) {
  return split == Split::pipeline && ranks > 1 ? ranks + 1 : 1;
}

/// Returns the largest number of sequences in a part, if a batch is divided into `batches` parts.
constexpr std::int64_t share_of_batch(std::int64_t batch_size, std::int64_t batches) {
  return (batch_size + batches - 1) / batches;
}

/// Returns the largest number of prompt tokens in one pass, if a batch is divided into `batches`
/// parts.
constexpr std::int64_t share_of_prefill(std::int64_t prefill_tokens, std::int64_t batches) {
  return std::max<std::int64_t>(1, prefill_tokens / batches);
}

/// Returns how many sequences of `longest` tokens the cache needs room for when prompts are only
/// scored. These are the sequences that fit whole into one pass, and two that fit only in part.
constexpr std::int64_t scored_sequences(std::int64_t batch_share, std::int64_t prefill_share,
                                        std::int64_t longest) {
  return std::min(batch_share, prefill_share / std::max<std::int64_t>(1, longest) + 2);
}

/// Returns how many sequences are in the cache. `has_forks` says that prompts have several
/// completions; then each batch also keeps a prompt's sequence, from which completions fork.
constexpr std::int64_t cached_sequences(std::int64_t batch_share, std::int64_t batches,
                                        bool has_forks) {
  return batches * (batch_share + (has_forks ? 1 : 0));
}

}  // namespace mgpu::lm
