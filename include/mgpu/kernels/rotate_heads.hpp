#pragma once

#include <cstddef>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = tokens, H = heads, C = columns of a head, even.
namespace mgpu::kernels {

struct RotateHeadsArgs {
  const float* x;       // [N, H, C]
  const float* weight;  // [C] weight of the heads' RMS norm; nullptr: no norm
  const float* cosine;  // [N, C / 2]
  const float* sine;    // [N, C / 2]
  float* out;           // [N, H, C] written; may be x
  std::size_t tokens;   // N
  std::size_t heads;    // H
  std::size_t columns;  // C
  float epsilon;        // epsilon of the RMS norm
};

/// Applies the RMS norm to each head if `weight` is given. Then rotates the column pairs (c, c + C
/// / 2) of each head by the angles of the head's token. Norm and rotation happen in one pass over
/// the heads. On one machine, the result of a token does not depend on other tokens, bit for bit.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: ShapeError when C is odd, and for cuda when C > 1024; cuda also LibraryError, and
///         NotBuiltError in a build without CUDA. cuda returns before the work is done.
/// Source: Su et al., arXiv 2104.09864; columns are paired as in transformers, not as in the paper.
namespace cpu {
void rotate_heads(const RotateHeadsArgs& args);
}
namespace cuda {
void rotate_heads(const RotateHeadsArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
