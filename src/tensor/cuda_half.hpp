#pragma once

namespace mgpu::tensor {

/// Loads the part of libtorch that contains the CUDA kernels, once per process. Call it before the
/// first GPU tensor is made. Ranks on the CPU do not call it, and save 230 MiB.
///
/// Errors: Failure (69, E206) when it cannot be loaded; NotBuiltError in a build without CUDA.
void load_cuda_half();

}  // namespace mgpu::tensor
