#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::tensor {

at::ScalarType scalar_type(DType dtype);

/// Returns the DType that corresponds to a type of libtorch. Errors: Error for types without a
/// DType, such as bool, complex and quantized types.
DType dtype_of(at::ScalarType type);

at::Device torch_device(Device device);
Device mgpu_device(const at::Tensor& tensor);

/// Returns a view of a tensor's elements, for modules without libtorch.
///
/// Memory: the tensor keeps ownership and must outlive the view.
/// Errors: ShapeError when the tensor is not contiguous; those of dtype_of().
BufferView view_of(const at::Tensor& tensor);

/// Does the same as view_of() for a tensor in host memory. Errors: those of view_of(), and Error
/// when the tensor is on a GPU.
BufferView host_view_of(const at::Tensor& tensor);

}  // namespace mgpu::tensor
