#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/dropout.hpp>

namespace torch::autograd {
struct AutogradContext;
}

namespace mgpu::ad {

/// One dropout site of the model for one batch.
struct Dropout {
  kernels::DropoutSite site;
  at::Tensor samples;  // [B] int64
};

/// Computes residual + dropout(x), differentiable in both; the element number is the offset in the
/// row.
///
/// Shapes: x, residual [B, ...]; `dropout` nullptr: plain sum
at::Tensor dropout_add(const at::Tensor& x, const at::Tensor& residual, const Dropout* dropout);

/// Computes dropout(x) for x [B, L, E] with element numbers l * pitch + e, differentiable.
at::Tensor dropout_lines(const at::Tensor& x, std::int64_t pitch, const Dropout& dropout);

/// Saves a dropout in the forward pass for the backward pass.
void save_dropout(torch::autograd::AutogradContext& context, const Dropout& dropout);
Dropout load_dropout(const torch::autograd::AutogradContext& context);

}  // namespace mgpu::ad
