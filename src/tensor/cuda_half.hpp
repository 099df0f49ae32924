#pragma once

namespace mgpu::tensor {

/// Loads the part of libtorch that contains the CUDA kernels, once per process. Call the function
/// before the first GPU tensor is made. Ranks on the CPU do not call it, which saves them 230 MiB.
///
/// Errors: Failure (69, E206) when the library cannot be loaded; NotBuiltError in a build without
///         CUDA.
void load_cuda_half();

}  // namespace mgpu::tensor
