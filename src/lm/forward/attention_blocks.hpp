#pragma once

#include <ATen/core/Tensor.h>

#include "lm/training/grad_ops.hpp"

// Attention with libtorch's matrix products, 128 queries at a time, for any type and device.
// Shapes in this header: N tokens, H query heads, G key heads, C head width.
namespace mgpu::lm::grad {

/// The inputs of attention, or their gradients.
struct AttentionGrads {
  at::Tensor q;      // [N, H, C]
  at::Tensor k;      // [N, G, C]
  at::Tensor v;      // [N, G, C]
  at::Tensor sinks;  // [H]; [0]: no sinks
};

/// Returns the attention outputs, [N, H * C].
///
/// Shapes: q [N, H, C]; k, v [N, G, C]; sinks [H], or [0] for a model without sinks
at::Tensor attend_in_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& sinks, const AttendedSequences& attended);

/// Returns the gradients of the inputs `in`. Recomputes the attention probabilities.
///
/// Shapes: grad_out [N, H, C]
/// Source: Dao et al., FlashAttention, NeurIPS 2022, appendix B.
AttentionGrads grads_in_blocks(const AttentionGrads& in, const at::Tensor& grad_out,
                               const AttendedSequences& attended);

}  // namespace mgpu::lm::grad
