#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/cross_entropy.hpp>

// Shapes in this header: `..` = any leading dimensions, A = actions.
namespace mgpu::ad {

/// The cross-entropy of one batch of predicted actions, and its gradient with respect to the
/// logits. Call logits.backward(grad) to continue the backward pass.
struct ActionLoss {
  at::Tensor grad;  // [.., A] gradient of the logits
  at::Tensor raw;   // one kernels::CrossEntropySums as bytes, on the device

  /// Returns the sums of loss, predictions and correct predictions, copied from `raw` to the host.
  /// Waits for the device.
  kernels::CrossEntropySums sums() const;
};

/// Computes in one pass the cross-entropy of `logits` against `targets`, and the gradient of
/// grad_scale times this loss with respect to the logits.
///
/// Shapes: logits [.., A] float32; targets [..] int64 in [0, A) or kernels::kIgnoreTarget
/// Errors: ShapeError when `targets` does not have the leading dimensions of `logits`.
ActionLoss action_loss(const at::Tensor& logits, const at::Tensor& targets, double grad_scale,
                       double label_smoothing = 0.0);

}  // namespace mgpu::ad
