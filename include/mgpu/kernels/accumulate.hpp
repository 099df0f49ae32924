#pragma once

#include <cstddef>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

namespace mgpu::kernels {

struct AccumulateArgs {
  float* sum;      // [count] updated
  const float* x;  // [count]
  std::size_t count;
};

/// Adds x to sum, element by element, with one rounding per element.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
namespace cpu {
void accumulate(const AccumulateArgs& args);
}
namespace cuda {
void accumulate(const AccumulateArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
