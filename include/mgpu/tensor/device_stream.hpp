#pragma once

#include <ATen/core/Tensor.h>

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace mgpu::tensor {

/// Returns whether the tensor is processed by CUDA kernels and libtorch instead of this program's
/// CPU kernels. All code that chooses between CUDA kernels and CPU kernels calls this function, so
/// tests/cudaemu can run the GPU code on CPU tensors.
bool runs_on_gpu(const at::Tensor& tensor);

/// Returns libtorch's current CUDA stream on the tensor's device. Also makes this device current
/// for the calling thread, because CUDA refuses launches on a stream of another device. All
/// launches of this program's kernels use this stream, except for those of train::GradientReducer,
/// whose thread has a separate stream.
///
/// Errors: NotBuiltError in a build without CUDA.
CUstream_st* current_stream(const at::Tensor& tensor);

}  // namespace mgpu::tensor
