#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = rows, B = logits of one block of the vocabulary, M = draws.
namespace mgpu::kernels {

/// One block of logits, and the state of the draws after all blocks so far (`reached` and `ids`).
/// Before the first block, set `reached` to 0 and `ids` to -1.
struct DrawWithReplacementArgs {
  const float* logits;     // [N, B] of tokens first_id .. first_id + B - 1
  const float* log_sums;   // [N] log of the sum of exp(logit) over the whole vocabulary
  const double* uniforms;  // [N, M] in [0, 1), ascending
  double* reached;         // [N] total probability of the tokens processed so far
  std::int64_t* ids;       // [N, M] sampled tokens; -1: no token so far
  std::size_t rows;        // N
  std::size_t block;       // B
  std::size_t draws;       // M
  std::int64_t first_id;
};

/// Samples M tokens of each row with replacement, from logits that arrive in blocks. Call this
/// function once for each block, in the order of the vocabulary.
///
/// Each uniform number u samples the first token at which the cumulative probability exceeds u.
/// Because of rounding, the draws with the largest uniform numbers of a row may still have no token
/// (id -1) after the last block. A row with NaN in log_sums gets no tokens. The results of a row
/// depend on this row only, bit for bit.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
/// Source: inverse transform sampling. Sums in double; cpu and cuda add in different orders.
namespace cpu {
void draw_with_replacement(const DrawWithReplacementArgs& args);
}
namespace cuda {
void draw_with_replacement(const DrawWithReplacementArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
