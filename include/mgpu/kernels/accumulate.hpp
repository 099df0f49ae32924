#pragma once

#include <cstddef>

struct CUstream_st;  // cudaStream_t is CUstream_st*; no CUDA header needed to call a kernel

namespace mgpu::kernels {

struct AccumulateArgs {
  float* sum;      // [count] updated
  const float* x;  // [count]
  std::size_t count;
};

/// Computes sum += x with one rounding per element.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError, or NotBuiltError in a build without CUDA. It returns before
///         the work is done.
namespace cpu {
void accumulate(const AccumulateArgs& args);
}
namespace cuda {
void accumulate(const AccumulateArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
