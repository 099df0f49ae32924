#pragma once

#include <ATen/core/Tensor.h>

// Matrix products with 16-bit factors and float32 results, for GPUs. Ordinary products of libtorch,
// such as at::linear, round their float32 sums to the type of the factors. Shapes: x [rows, in]; w
// [out, in]. x and w are both bfloat16, or both float16. Their strides may have any values.
namespace mgpu::tensor {

/// Returns x w^T, [rows, out] float32.
at::Tensor wide_product(const at::Tensor& x, const at::Tensor& w);

/// Adds x w^T to `out`, [rows, out] float32, without a temporary matrix on a GPU.
void add_wide_product(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w);

}  // namespace mgpu::tensor
