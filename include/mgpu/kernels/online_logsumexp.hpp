#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // cudaStream_t is CUstream_st*, so callers need no CUDA header

// Shapes in this header: N = rows, B = logits of one block of the vocabulary, K = number of largest
// ("best") logits to find.
namespace mgpu::kernels {

inline constexpr std::size_t kMaxBest = 1024;  // upper limit of K

/// One block of logits, and the state of each row after all blocks so far. Before the first block,
/// set `tops` to -infinity, `sums` to 0, `picked` to NaN, `best_logits` to -infinity and `best_ids`
/// to -1.
struct OnlineLogsumexpArgs {
  const float* logits;          // [N, B] of tokens first_id .. first_id + B - 1
  const std::int64_t* targets;  // [N] token whose logit is copied to `picked`; nullptr: none
  float* tops;                  // [N] largest logit so far
  float* sums;                  // [N] sum of exp(logit - top)
  float* picked;  // [N] logit of the target, written if this block has the target; may be nullptr
                  // if `targets` is nullptr
  float* best_logits;      // [N, K] descending, ties by ascending token
  std::int64_t* best_ids;  // [N, K] tokens of best_logits; -1: no token so far
  std::size_t rows;        // N
  std::size_t block;       // B
  std::size_t best;        // K <= kMaxBest, may be 0
  std::int64_t first_id;
};

/// Updates the state of each row (its sum of exp, its best logits and the logit of its target) with
/// one block of logits. Call this function once for each block, in the order of the vocabulary. So
/// the logits of the whole vocabulary never have to be in memory at once. A NaN logit is never
/// among the best, and makes the sum of its row NaN. The results of a row depend on this row only,
/// bit for bit.
///
/// Memory: pointers on the host (cpu) or on the stream's device (cuda).
/// Errors: ShapeError when K > kMaxBest; cuda also LibraryError, and NotBuiltError in a build
///         without CUDA. cuda returns before the work is done.
/// Source: Milakov and Gimelshein, arXiv 1805.02867 (running maximum and sum).
namespace cpu {
void online_logsumexp(const OnlineLogsumexpArgs& args);
}
namespace cuda {
void online_logsumexp(const OnlineLogsumexpArgs& args, CUstream_st* stream);
}

}  // namespace mgpu::kernels
