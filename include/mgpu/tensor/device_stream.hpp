#pragma once

#include <ATen/core/Tensor.h>

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace mgpu::tensor {

/// Returns whether CUDA kernels and libtorch process the tensor, instead of the CPU kernels. All
/// code that chooses between the two calls this function, so tests/cudaemu can send CPU tensors
/// down the GPU path.
bool runs_on_gpu(const at::Tensor& tensor);

/// Returns libtorch's stream for the tensor's device, on which our kernels are enqueued, too.
///
/// Errors: NotBuiltError in a build without CUDA.
CUstream_st* current_stream(const at::Tensor& tensor);

}  // namespace mgpu::tensor
