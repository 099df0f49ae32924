#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

// What works on tokens one by one. Shapes: N tokens, D width. On the CPU in float32 the bits of
// a row depend on that row only: not on N, on its place, or on the other rows.
namespace mgpu::lm {

/// Sizes of the panels that a matrix on the CPU is packed into, of its type; {0} for any other.
std::vector<std::int64_t> panel_shape(const Linear& linear);

/// Puts panels of panel_shape() in place of the matrix.
void pack(Linear& linear, const at::Tensor& panels);

/// Outputs first .. first + count - 1 of a linear without a bias; `first` begins a panel.
Linear part_of(const Linear& linear, std::int64_t first, std::int64_t count);

/// x W^T + b, [N, out] float32; with a matrix in bfloat16 x is rounded to it, too, and sums are
/// float32. Errors: ShapeError when x has another width; on the CPU also when the
/// linear is not packed.
at::Tensor project(const at::Tensor& x, const Linear& linear);

/// The norm of each row, [N, D].
at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm);

/// RMS norm over the last dimension, whatever stands before it.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// What kernels call it.
kernels::ActivationKind kernel_kind(Activation kind);

/// activation(gate) * up; `up` undefined: activation(gate).
at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up);

/// The activation of experts: kernels::ActivationKind::clamped.
at::Tensor clamped_activation(const ExpertConfig& experts, const at::Tensor& gate,
                              const at::Tensor& up);

}  // namespace mgpu::lm
