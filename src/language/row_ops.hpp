#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/language/lm_config.hpp>
#include <mgpu/language/lm_weights.hpp>

// What works on tokens one by one. Shapes: N tokens, D width. On the CPU in float32 the bits of
// a row depend on that row only: not on N, on its place, or on the other rows.
namespace mgpu::language {

/// Tokens that a matrix product on the CPU sees at once. A BLAS may sum in another order for
/// another number of rows, so it always gets this many; missing ones are zeros.
inline constexpr std::int64_t kRowBlock = 16;

/// x W^T + b, [N, out].
at::Tensor project(const at::Tensor& x, const Linear& linear);

/// The norm of each row, [N, D].
at::Tensor normalize(const LmConfig& config, const at::Tensor& x, const Norm& norm);

/// RMS norm over the last dimension, whatever stands before it.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon);

/// activation(gate) * up; `up` undefined: activation(gate).
at::Tensor gated_activation(Activation kind, const at::Tensor& gate, const at::Tensor& up);

}  // namespace mgpu::language
