#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = rows, B = scores of one block of the vocabulary.
namespace mgpu::kernels {

/// One block of scores, and the sampled token of each row after all blocks so far. Before the first
/// block, set `tops` to -infinity, `sums` to 0 and `ids` to -1.
struct OnlineDrawArgs {
  const float* scores;  // [N, B] of tokens first_id .. first_id + B - 1; -infinity: never sampled
  const float* logits;  // [N, B] from which `picked` is copied; may be scores
  const double* uniforms;  // [N, 2] in [0, 1): the first decides if a token of this block replaces
                           // the sampled token, the second decides which one
  double* tops;            // [N] largest score so far
  double* sums;            // [N] sum of exp(score - top)
  std::int64_t* ids;       // [N] token sampled so far
  float* picked;           // [N] logit of the token in `ids`
  std::size_t rows;        // N
  std::size_t block;       // B
  std::int64_t first_id;
};

/// Samples one token of each row from softmax(scores), while the scores arrive in blocks. Call this
/// function once for each block. A token of this block replaces the sampled token with the
/// probability s / (sum so far, including s), where s is the block's sum of exp(score). For a row
/// with NaN or +infinity the result is undefined.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
/// Source: Chao, Biometrika 69 (1982), weighted reservoir sampling of one item. Sums in double; cpu
///         and cuda add in different orders.
namespace cpu {
void online_draw(const OnlineDrawArgs& args);
}
namespace cuda {
void online_draw(const OnlineDrawArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
