#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "changed_logits.hpp"

// Shapes in this header: N rows of a draw, K best tokens of each row.
namespace mgpu::lm {

/// The K most probable tokens of each row, most probable first. Tokens with equal logits are in
/// ascending order of their ids. Changed logits are those after repetition penalty, processors and
/// offsets.
struct BestTokens {
  at::Tensor log_sums;    // [N] float32, logsumexp of the changed logits
  at::Tensor log_totals;  // [N] float32, logsumexp of changed logits / temperature; [0]: not needed
  at::Tensor ids;         // [N, K] int64; -1: fewer tokens, or logits that are not finite
  at::Tensor logits;      // [N, K] float32, changed
  at::Tensor log_probs;   // [N, K] float32, from the model's unchanged logits; [0]: unknown,
                          // because a repetition penalty or a block processor changes logits
  at::Tensor divergences;  // [N] float64, KL divergence due to the offsets
                           // (DrawnToken::divergence); [0] without a candidate processor
};

/// Returns whether top p needs the sum over the whole vocabulary, BestTokens::log_totals.
bool needs_total(const SamplingConfig& config);

/// Returns the `best` most probable tokens of each row, on the device of `rows`. The host reads
/// nothing back, unless a logit processor reads tensors.
///
/// Ranks: collective over the ranks of a tensor-parallel model
BestTokens best_tokens(const SampledRows& rows, const SamplingConfig& config, std::int64_t best);

}  // namespace mgpu::lm
