#pragma once

#include <ATen/core/Tensor.h>

struct CUstream_st;  // cudaStream_t is CUstream_st*

namespace mgpu::tensor {

/// Whether work on the tensor is for CUDA kernels and libtorch, and not for the CPU's kernels. All
/// that choose between the two ask here, so that tests/cudaemu can send tensors on the CPU the way
/// of those on GPUs.
bool runs_on_gpu(const at::Tensor& tensor);

/// The stream that libtorch works on for the tensor's device: our kernels queue behind its own.
///
/// Errors: NotBuiltError in a build without CUDA.
CUstream_st* current_stream(const at::Tensor& tensor);

}  // namespace mgpu::tensor
