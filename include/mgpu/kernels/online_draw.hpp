#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*; no CUDA header needed to call a kernel

// Shapes in this header: N = rows, B = scores of one block of the vocabulary.
namespace mgpu::kernels {

/// The sample of each row after some blocks of the vocabulary were processed. Initial values: tops
/// -infinity, sums 0, ids -1.
struct OnlineDrawArgs {
  const float* scores;  // [N, B] of tokens first_id .. first_id + B - 1; -infinity: never sampled
  const float* logits;  // [N, B] from which `picked` is copied; may be scores
  const double* uniforms;  // [N, 2] in [0, 1): the first decides if the block replaces the sample,
                           // the second selects the token
  double* tops;            // [N] largest score so far
  double* sums;            // [N] sum of exp(score - top)
  std::int64_t* ids;       // [N] current sample
  float* picked;           // [N] logit of the current sample
  std::size_t rows;        // N
  std::size_t block;       // B
  std::int64_t first_id;
};

/// Samples one token of each row from softmax(scores) while the scores arrive in blocks. A block
/// replaces the sample with probability equal to its share of the sum so far, and picks a token by
/// its share of the block. For a row with NaN or +infinity the result is undefined.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError, or NotBuiltError in a build without CUDA. It returns before
///         the work is done.
/// Source: Chao, Biometrika 69 (1982), weighted reservoir sampling of one item. Sums in double; cpu
///         and cuda add in different orders.
namespace cpu {
void online_draw(const OnlineDrawArgs& args);
}
namespace cuda {
void online_draw(const OnlineDrawArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
