#pragma once

namespace mgpu::tensor {

/// Loads the part of libtorch that contains the CUDA kernels, once per process. Call the function
/// before the first GPU tensor is made. Ranks that compute on the CPU do not call it, which saves
/// 230 MiB of memory per rank.
///
/// Errors: Failure E206 (exit 69) when the library cannot be loaded; NotBuiltError in a build
///         without CUDA.
void load_cuda_half();

}  // namespace mgpu::tensor
