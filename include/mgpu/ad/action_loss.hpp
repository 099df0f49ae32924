#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/cross_entropy.hpp>

// Shapes in this header: N = predictions (any leading dimensions), A = actions.
namespace mgpu::ad {

/// Loss of one batch and where backward starts: logits.backward(grad).
struct ActionLoss {
  at::Tensor grad;  // [.., A] like the logits
  at::Tensor raw;   // the sums, as bytes on the device

  /// The sums, on the host. Waits for the device.
  kernels::CrossEntropySums sums() const;
};

/// Cross-entropy of the targets, its gradient times grad_scale in one pass.
///
/// Shapes: logits [.., A] float32; targets [..] int64 in [0, A) or kernels::kIgnoreTarget
/// Errors: ShapeError when they do not fit.
ActionLoss action_loss(const at::Tensor& logits, const at::Tensor& targets, double grad_scale,
                       double label_smoothing = 0.0);

}  // namespace mgpu::ad
