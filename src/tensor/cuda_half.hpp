#pragma once

namespace mgpu::tensor {

/// Loads the part of libtorch that has its CUDA kernels, once per process; tensors on GPUs come
/// after it. Ranks on the CPU do without its 230 MiB.
///
/// Errors: Failure (69, E206) when it cannot be loaded; NotBuiltError in a build without CUDA.
void load_cuda_half();

}  // namespace mgpu::tensor
