#pragma once

#include <ATen/core/Tensor.h>

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace mgpu::tensor {

/// Returns whether CUDA kernels and libtorch process the tensor, instead of this program's CPU
/// kernels. All code that chooses between GPU and CPU calls this function, so tests/cudaemu can
/// send CPU tensors down the GPU path.
bool runs_on_gpu(const at::Tensor& tensor);

/// Returns libtorch's current CUDA stream on the tensor's device, and makes this device current for
/// the calling thread. All launches of this program's kernels pass its result, because CUDA refuses
/// a stream of another device.
///
/// Errors: NotBuiltError in a build without CUDA.
CUstream_st* current_stream(const at::Tensor& tensor);

}  // namespace mgpu::tensor
