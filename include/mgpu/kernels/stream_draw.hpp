#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*; no CUDA header needed to call a kernel

// Shapes in this header: N = rows, B = scores of one block of the vocabulary.
namespace mgpu::kernels {

/// The draw of each row after some blocks of the vocabulary. Before the first block: tops
/// -infinity, sums 0, ids -1.
struct StreamDrawArgs {
  const float* scores;     // [N, B] of tokens first_id .. first_id + B - 1; -infinity: never drawn
  const float* logits;     // [N, B] of which the drawn token's is kept; may be scores
  const double* uniforms;  // [N, 2] in [0, 1): whether the block takes over, and where in it
  double* tops;            // [N] largest score
  double* sums;            // [N] sum of exp(score - top)
  std::int64_t* ids;       // [N] drawn so far
  float* picked;           // [N] its logit
  std::size_t rows;        // N
  std::size_t block;       // B
  std::int64_t first_id;
};

/// Draws one token of each row from softmax(scores) while scores come block by block: a block
/// takes the draw over with its share of the sum so far, and a token of it with its share of the
/// block. The draw of a row with NaN or +infinity means nothing.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda: LibraryError, and NotBuiltError in a build without CUDA; returns before the
///         work is done.
/// Source: Chao, Biometrika 69 (1982), weighted reservoir of one item. Sums in double; cpu and
///         cuda add in different orders.
namespace cpu {
void stream_draw(const StreamDrawArgs& args);
}
namespace cuda {
void stream_draw(const StreamDrawArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
