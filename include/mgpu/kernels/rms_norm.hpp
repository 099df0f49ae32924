#pragma once

#include <cstddef>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = rows, D = width.
namespace mgpu::kernels {

struct RmsNormArgs {
  const float* x;       // [N, D]
  const float* weight;  // [D]
  float* out;           // [N, D] written; may be x
  std::size_t rows;     // N
  std::size_t width;    // D
  float epsilon;
};

/// Computes out = x / sqrt(mean(x^2) + epsilon) * weight, row by row. On one machine, an output row
/// depends only on its input row and the weights, bit for bit.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
/// Source: Zhang and Sennrich, NeurIPS 2019.
namespace cpu {
void rms_norm(const RmsNormArgs& args);
}
namespace cuda {
void rms_norm(const RmsNormArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
