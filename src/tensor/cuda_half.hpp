#pragma once

namespace mgpu::tensor {

/// Loads the part of libtorch that contains the CUDA kernels, once per process and before any GPU
/// tensor. Ranks on the CPU save its 230 MiB.
///
/// Errors: Failure (69, E206) when it cannot be loaded; NotBuiltError in a build without CUDA.
void load_cuda_half();

}  // namespace mgpu::tensor
