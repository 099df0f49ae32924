#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/cross_entropy.hpp>

// Shapes in this header: N = predictions (any leading dimensions), A = actions.
namespace mgpu::ad {

/// The loss of one batch, and its gradient for logits.backward(grad).
struct ActionLoss {
  at::Tensor grad;  // [.., A] gradient of the logits
  at::Tensor raw;   // kernels::CrossEntropySums as bytes, on the device

  /// Copies the sums to the host. Waits for the device.
  kernels::CrossEntropySums sums() const;
};

/// Computes the cross-entropy of the targets, and its gradient times grad_scale in one pass.
///
/// Shapes: logits [.., A] float32; targets [..] int64 in [0, A) or kernels::kIgnoreTarget
/// Errors: ShapeError when the shapes differ.
ActionLoss action_loss(const at::Tensor& logits, const at::Tensor& targets, double grad_scale,
                       double label_smoothing = 0.0);

}  // namespace mgpu::ad
