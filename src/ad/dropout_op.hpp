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

/// Computes residual + dropout(x), differentiable in both. The dropout number of an element is its
/// offset in the row.
///
/// Shapes: x, residual [B, ...]; `dropout` nullptr: plain sum
at::Tensor dropout_add(const at::Tensor& x, const at::Tensor& residual, const Dropout* dropout);

/// Computes dropout(x) for x [B, L, E], differentiable. Element e of line l has dropout number l *
/// pitch + e.
at::Tensor dropout_lines(const at::Tensor& x, std::int64_t pitch, const Dropout& dropout);

/// Saves the arguments of a dropout for the backward pass, which loads them.
void save_dropout(torch::autograd::AutogradContext& context, const Dropout& dropout);
Dropout load_dropout(const torch::autograd::AutogradContext& context);

}  // namespace mgpu::ad
