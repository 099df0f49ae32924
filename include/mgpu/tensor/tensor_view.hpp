#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::tensor {

at::ScalarType scalar_type(DType dtype);

/// Errors: Error for a type that the rest of the program does not know (complex, quantized).
DType dtype_of(at::ScalarType type);

at::Device torch_device(Device device);
Device device_behind(const at::Tensor& tensor);

/// The elements of a tensor, for modules without libtorch.
///
/// Memory: the tensor keeps owning them and has to outlive the view.
/// Errors: ShapeError when the tensor is not contiguous.
BufferView view_of(const at::Tensor& tensor);

}  // namespace mgpu::tensor
