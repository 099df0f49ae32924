#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <mgpu/kernels/dropout.hpp>

namespace torch::autograd {
struct AutogradContext;
}

namespace mgpu::ad {

// Shapes in this header: B = rows of a batch, L = lines of a row, E = elements of a line.

/// A place in the model that applies dropout, and the numbers that select its masks for one batch.
struct Dropout {
  kernels::DropoutSite site;
  at::Tensor samples;  // [B] int64 ordinal of each row's training item, see DropoutSamples
};

/// Computes residual + dropout(x), differentiable in x and residual. If `dropout` is nullptr,
/// nothing is dropped. The offset of an element in its row selects the element's random number.
///
/// Shapes: x, residual [B, ...]
at::Tensor dropout_add(const at::Tensor& x, const at::Tensor& residual, const Dropout* dropout);

/// Computes dropout(x) for x [B, L, E], differentiable in x. Element e of line l uses random number
/// l * pitch + e of its row. `pitch` is a multiple of kernels::kDropoutRun.
at::Tensor dropout_lines(const at::Tensor& x, std::int64_t pitch, const Dropout& dropout);

/// Saves the arguments of a dropout in an autograd context, from which load_dropout() reads them in
/// the backward pass.
void save_dropout(torch::autograd::AutogradContext& context, const Dropout& dropout);
/// Returns the arguments that save_dropout() saved in this context.
Dropout load_dropout(const torch::autograd::AutogradContext& context);

}  // namespace mgpu::ad
