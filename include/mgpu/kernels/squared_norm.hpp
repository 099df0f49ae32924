#pragma once

#include <cstddef>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

namespace mgpu::kernels {

/// Number of elements whose squares form one block sum. The block sums are added in a fixed order,
/// so the result does not depend on how threads are scheduled.
inline constexpr std::size_t kNormBlock = 4096;

struct SquaredNormArgs {
  const float* x;      // [count]
  std::size_t count;   // if 0, out is 0
  double* block_sums;  // [ceil(count / kNormBlock)] scratch
  double* out;         // [1]
};

/// Computes out = sum of x^2 in double. The result is finite unless x has infinity or NaN.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
namespace cpu {
void squared_norm(const SquaredNormArgs& args);
}
namespace cuda {
void squared_norm(const SquaredNormArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
