#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/sequence_loss.hpp>
#include <mgpu/lm/training/token_loss.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/tensor/compute_kind.hpp>

#include "lm/decode/folded_logits.hpp"

// Shapes in this header: N tokens, D width, V vocabulary, n rows of a block.
namespace mgpu::lm::grad {

/// Head and loss of a pass.
struct HeadArgs {
  const at::Tensor& hidden;   // [N, D]
  const at::Tensor& weight;   // [V, D]
  const at::Tensor& targets;  // [N] int64 in [0, V) or kernels::kIgnoreTarget
  tensor::ComputeKind compute;
};

/// Gradients of grad_scale * (sum of losses).
struct HeadGradients {
  at::Tensor hidden;  // [N, D], made anew
  at::Tensor weight;  // [V, D], added to; undefined: made
};

/// Some rows that have a target, with their logits over the whole vocabulary.
struct HeadBlock {
  std::vector<LogitsPiece> pieces;  // by first_id; `row` is 0
  at::Tensor targets;               // [n]
  at::Tensor places;                // [n] of the rows, in the N tokens
};

/// Log of the sum of exponentials, logit of the target, and best token of each row.
struct RowFacts {
  at::Tensor log_sums;  // [n]
  at::Tensor picked;    // [n]
  at::Tensor best;      // [n] int64

  /// What cross-entropy says of them.
  LmSums sums(const at::Tensor& targets) const;
};
RowFacts facts_of(const HeadBlock& block);

/// Adds `value` to the row's target in the pieces; times `weights` [n], where they are defined.
void add_at_targets(const HeadBlock& block, double value, const at::Tensor& weights = {});

LmSums cross_entropy(HeadBlock& block, std::optional<double> scale);

/// A loss over vocabulary blocks; with `gradients` these are made on the way. Tokens whose target
/// is ignored cost nothing.
///
/// Memory: logits of at most 512 tokens and about 64 MiB at a time.
LmSums head_loss(const HeadArgs& args, const BlockLoss& loss, double grad_scale,
                 HeadGradients* gradients);

/// Log-probabilities, and entropies where they are asked for, of the tokens that have a target; in
/// blocks as head_loss().
TokenValues head_values(const HeadArgs& args, const ValueRequest& request);

/// The sum over n of slopes[n] * log-probability of target n at a temperature; its value is not
/// computed, and its sums are 0.
///
/// Shapes: slopes [N]
BlockLoss weighted_log_probs(const std::vector<double>& slopes, double temperature);

/// What ModelHead says of some tokens, [rows, outputs] in float32 or float64.
///
/// Shapes: hidden [N, D]; rows int64, of the N tokens
at::Tensor own_outputs(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows);

/// Adds to the gradients of the head and of `hidden` what `outputs`, the gradient with respect to
/// own_outputs(), asks for.
void add_own_gradients(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows,
                       const at::Tensor& outputs, const at::Tensor& hidden_gradient);

}  // namespace mgpu::lm::grad
