#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/cross_entropy.hpp>

// Shapes in this header: `..` = any leading dimensions, A = actions.
namespace mgpu::ad {

/// The result of action_loss(): the cross-entropy of one batch of predicted actions, summed over
/// the predictions, and its gradient. Call logits.backward(grad) to continue the backward pass.
struct ActionLoss {
  at::Tensor grad;  // [.., A] gradient of grad_scale * loss with respect to the logits
  at::Tensor raw;   // bytes on the device: the kernels::CrossEntropySums of the batch, then scratch

  /// Returns the summed loss, the number of predictions, and the number of correct predictions.
  /// Predictions with the target kernels::kIgnoreTarget are not counted. Copies the result from
  /// `raw` to the host, and so waits for the device.
  kernels::CrossEntropySums sums() const;
};

/// Computes the loss and a gradient in one pass. The loss is the cross-entropy of `logits` against
/// `targets`, summed over predictions. The gradient is that of grad_scale * loss with respect to
/// the logits.
///
/// Shapes: logits [.., A] float32; targets [..] int64 in [0, A), or kernels::kIgnoreTarget for a
///         prediction that does not count
/// Errors: ShapeError when `targets` does not have the leading dimensions of `logits`; those of the
///         kernel cross_entropy().
ActionLoss action_loss(const at::Tensor& logits, const at::Tensor& targets, double grad_scale,
                       double label_smoothing = 0.0);

}  // namespace mgpu::ad
