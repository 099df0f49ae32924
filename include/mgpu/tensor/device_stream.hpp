#pragma once

#include <ATen/core/Tensor.h>

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace mgpu::tensor {

/// The stream that libtorch works on for the tensor's device: our kernels queue behind its own.
///
/// Errors: NotBuiltError in a build without CUDA.
CUstream_st* current_stream(const at::Tensor& tensor);

}  // namespace mgpu::tensor
