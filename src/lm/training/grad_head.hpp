#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/token_loss.hpp>
#include <mgpu/tensor/compute_kind.hpp>

#include "lm/decode/online_logits.hpp"

// Shapes in this header: N tokens, D width, V vocabulary, n rows of a block.
namespace mgpu::lm::grad {

/// The inputs of the vocabulary head and of the loss.
struct HeadArgs {
  const at::Tensor& hidden;   // [N, D]
  const at::Tensor& weight;   // [V, D]
  const at::Tensor& targets;  // [N] int64 in [0, V) or kernels::kIgnoreTarget
  tensor::ComputeKind compute;
};

/// The gradients that head_loss() computes.
struct HeadGradients {
  at::Tensor hidden;  // [N, D]; head_loss() replaces the tensor
  at::Tensor weight;  // [V, D]; head_loss() adds to the tensor, or makes it if undefined
};

/// A block of tokens, and the logits of these tokens over the whole vocabulary. Each token of the
/// block has a target.
struct HeadBlock {
  std::vector<LogitsPiece> pieces;  // in the order of LogitsPiece::first_id; LogitsPiece::row is 0
  at::Tensor targets;               // [n] target of each token, as in HeadArgs
  at::Tensor token_index;           // [n] index of each token among the N tokens
  std::span<const std::int64_t> tokens;  // [n] token_index on the host
};

/// Values that are computed from the logits of each row of a block.
struct RowFacts {
  at::Tensor log_sums;       // [n] logsumexp of the logits
  at::Tensor target_logits;  // [n] logit of the target
  at::Tensor best;           // [n] int64, the token with the largest logit

  /// Returns the three sums of a BlockLoss, [3] float64 on the device. The first and the third sum
  /// are both the sum of the rows' cross-entropies. If `weights` [n] is defined, the cross-entropy
  /// of each row is first multiplied by the row's weight. The second sum is the number of rows
  /// whose target has the largest logit.
  at::Tensor sums(const at::Tensor& targets, const at::Tensor& weights = {}) const;
};
RowFacts facts_of(const HeadBlock& block);

/// Adds `value` to the logit of each row's target. If `weights` [n] is defined, adds `value` times
/// the row's weight instead.
void add_at_targets(const HeadBlock& block, double value, const at::Tensor& weights = {});

/// A function that processes a block, given the block and its hidden states, [n, D].
using BlockVisit = std::function<void(HeadBlock& block, const at::Tensor& hidden)>;

/// Splits the tokens that have a target into blocks, and calls visit(block, hidden) for each block.
/// The argument `hidden` has the hidden states of the block's tokens, [n, D].
///
/// Memory: the logits of one block, whose size head_blocks() determines.
void for_each_block(const HeadArgs& args, const BlockVisit& visit);

/// Computes the cross-entropy of a block, and returns RowFacts::sums(). If `scale` has a value,
/// also replaces the logits by the gradients of scale * cross-entropy.
at::Tensor cross_entropy(HeadBlock& block, std::optional<double> scale);

/// Computes a loss in blocks of tokens, and returns the sums of the loss. Unless `gradients` is
/// nullptr, also computes the gradients of grad_scale * loss. Tokens without a target cost no time.
/// The host reads the targets from the device at the start. At the end, it reads the sums if `loss`
/// has returned any.
///
/// Memory: that of for_each_block().
LmSums head_loss(const HeadArgs& args, const BlockLoss& loss, double grad_scale,
                 HeadGradients* gradients);

}  // namespace mgpu::lm::grad
