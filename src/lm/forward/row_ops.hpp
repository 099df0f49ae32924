#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

// Operations that treat each token separately. Shapes: N tokens, D width. In float32 on the CPU,
// the bits of a token's row depend on that row only, not on N, the index of the row or other rows.
namespace mgpu::lm {

/// Returns the shape of the GEMM panels into which pack() packs the matrix of a linear layer; {0}
/// if the matrix is undefined or on a GPU. The panels have the type of the matrix.
std::vector<std::int64_t> panel_shape(const Linear& linear);

/// Packs the matrix of a linear layer into `panels`, which have panel_shape(), and releases the
/// matrix.
void pack(Linear& linear, const at::Tensor& panels);

/// Returns the part of a linear layer that computes outputs first .. first + count - 1, without
/// bias. `first` has to be the start of a panel.
Linear part_of(const Linear& linear, std::int64_t first, std::int64_t count);

/// Returns x W^T + b, [N, out] float32, for x [N, in] float32. W and b are the matrix and the bias
/// of the linear layer. If W is bfloat16, x is rounded to bfloat16 first, and the sums are float32.
/// Errors: on the CPU, ShapeError when the width of x does not fit, or the linear layer is not
///         packed.
at::Tensor project(const at::Tensor& x, const Linear& linear);

/// Returns x, [N, D], after a layer norm or an RMS norm of each row, depending on LmConfig::norm.
at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm);

/// Returns the RMS norm of x over its last dimension. x may have any number of other dimensions.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// Returns the kernels::ActivationKind of an activation.
kernels::ActivationKind kernel_kind(Activation kind);

/// Returns activation(gate) * up, or activation(gate) if `up` is undefined.
at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up);

/// Returns the output of kernels::ActivationKind::clamped, the activation inside experts.
at::Tensor clamped_activation(const ExpertConfig& experts, const at::Tensor& gate,
                              const at::Tensor& up);

}  // namespace mgpu::lm
