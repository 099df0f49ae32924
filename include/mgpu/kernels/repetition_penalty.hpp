#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = rows, B = tokens of a block of the vocabulary, I = total number of
// ids.
namespace mgpu::kernels {

struct RepetitionPenaltyArgs {
  float* logits;              // [N, B] changed in place
  const std::int64_t* ids;    // [I] ids of all rows; those of a row are ascending and distinct
  const std::int64_t* spans;  // [N, 2] row n has the ids at spans[n][0] .. spans[n][1] - 1
  std::size_t rows;           // N
  std::size_t block;          // B
  std::int64_t first_id;      // token id of the first of the B logits
  float penalty;              // > 0
};

/// Applies the repetition penalty to each logit whose token is among the ids of its row: divides
/// logits that are not negative by the penalty, and multiplies negative ones. Ids outside the block
/// change nothing. cpu and cuda write the same bits.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: cuda throws LibraryError when the launch fails, and NotBuiltError in a build without
///         CUDA. cuda returns before the work is done.
/// Source: Keskar et al., arXiv 1909.05858; negative logits are multiplied, as in transformers.
namespace cpu {
void repetition_penalty(const RepetitionPenaltyArgs& args);
}
namespace cuda {
void repetition_penalty(const RepetitionPenaltyArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
