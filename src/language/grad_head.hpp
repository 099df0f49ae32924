#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/language/trainable_model.hpp>

// Shapes in this header: N tokens, D width, V vocabulary.
namespace mgpu::language::grad {

/// Head and loss of a pass.
struct HeadArgs {
  const at::Tensor& hidden;   // [N, D]
  const at::Tensor& weight;   // [V, D]
  const at::Tensor& targets;  // [N] int64 in [0, V) or kernels::kIgnoreTarget
  model::ComputeKind compute;
};

/// Gradients of grad_scale * (sum of losses).
struct HeadGradients {
  at::Tensor hidden;  // [N, D]
  at::Tensor weight;  // [V, D]
};

/// Cross-entropy over vocabulary blocks; with `gradients` these are made on the way. Tokens whose
/// target is ignored cost nothing.
///
/// Memory: logits of at most 256 tokens and about 64 MiB at a time.
LmSums head_loss(const HeadArgs& args, double grad_scale, HeadGradients* gradients);

}  // namespace mgpu::language::grad
