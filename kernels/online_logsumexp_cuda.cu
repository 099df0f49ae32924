// One thread block processes a row. It finds the K largest logits one at a time, in descending
// order. Each search covers the best logits of earlier vocabulary blocks and the logits of this
// vocabulary block. A search finds the largest logit among those that come after the result of the
// previous search (see ComesBefore).
#include <cmath>

#include <cub/block/block_reduce.cuh>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

struct Candidate {
  float logit;
  std::int64_t id;
};

/// Returns whether a precedes b: its logit is larger, or the logits are equal and its token id is
/// smaller. A candidate with id < 0 is empty and comes last.
struct ComesBefore {
  __device__ static bool test(const Candidate& a, const Candidate& b) {
    if (a.id < 0 || b.id < 0) return a.id >= 0;
    return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
  }
  __device__ Candidate operator()(const Candidate& a, const Candidate& b) const {
    return test(a, b) ? a : b;
  }
};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

using Floats = cub::BlockReduce<float, kThreads>;
using Candidates = cub::BlockReduce<Candidate, kThreads>;

/// Updates args.tops[n], the largest logit, and args.sums[n], the sum of the exponentials.
__device__ void fold_sum(const OnlineLogsumexpArgs& args, std::size_t n, const float* logits) {
  __shared__ typename Floats::TempStorage scratch;
  __shared__ float top;
  float mine = -INFINITY;
  for (std::size_t i = threadIdx.x; i < args.block; i += kThreads)
    mine = fmaxf(mine, logits[i]);
  mine = Floats(scratch).Reduce(mine, Larger());
  if (threadIdx.x == 0) top = fmaxf(args.tops[n], mine);
  __syncthreads();
  const bool is_empty = top == -INFINITY;  // nothing to add unless a logit is NaN
  float sum = 0.0F;
  for (std::size_t i = threadIdx.x; i < args.block; i += kThreads)
    sum += is_empty ? (isnan(logits[i]) ? logits[i] : 0.0F) : expf(logits[i] - top);
  sum = Floats(scratch).Sum(sum);
  if (threadIdx.x == 0) {
    args.sums[n] = args.sums[n] * (is_empty ? 1.0F : expf(args.tops[n] - top)) + sum;
    args.tops[n] = top;
  }
}

/// Replaces `found` by `candidate` if `candidate` ranks higher. If `has_last` is true, `candidate`
/// must also rank lower than `last`. Ignores empty candidates and those whose logit is NaN.
__device__ void consider(Candidate candidate, bool has_last, const Candidate& last,
                         Candidate& found) {
  if (isnan(candidate.logit) || candidate.id < 0) return;
  if (has_last && !ComesBefore::test(last, candidate)) return;
  if (ComesBefore::test(candidate, found)) found = candidate;
}

__device__ void fold_best(const OnlineLogsumexpArgs& args, std::size_t n, const float* logits) {
  __shared__ typename Candidates::TempStorage scratch;
  __shared__ Candidate list[kMaxBest];
  const float* old_logits = args.best_logits + n * args.best;
  const std::int64_t* old_ids = args.best_ids + n * args.best;
  for (std::size_t k = 0; k < args.best; ++k) {
    const Candidate last = k > 0 ? list[k - 1] : Candidate{0.0F, -1};
    Candidate found{-INFINITY, -1};
    const bool is_exhausted = k > 0 && last.id < 0;
    if (!is_exhausted) {
      for (std::size_t i = threadIdx.x; i < args.best; i += kThreads)
        consider({old_logits[i], old_ids[i]}, k > 0, last, found);
      for (std::size_t i = threadIdx.x; i < args.block; i += kThreads)
        consider({logits[i], args.first_id + static_cast<std::int64_t>(i)}, k > 0, last, found);
    }
    found = Candidates(scratch).Reduce(found, ComesBefore());
    if (threadIdx.x == 0) list[k] = found;
    __syncthreads();
  }
  for (std::size_t k = threadIdx.x; k < args.best; k += kThreads) {
    args.best_logits[n * args.best + k] = list[k].logit;
    args.best_ids[n * args.best + k] = list[k].id;
  }
}

__global__ void online_logsumexp_kernel(OnlineLogsumexpArgs args) {
  const std::size_t n = blockIdx.x;
  const float* logits = args.logits + n * args.block;
  fold_sum(args, n, logits);
  if (args.targets != nullptr && threadIdx.x == 0) {
    const std::int64_t place = args.targets[n] - args.first_id;
    if (place >= 0 && static_cast<std::size_t>(place) < args.block) args.picked[n] = logits[place];
  }
  if (args.best > 0) fold_best(args, n, logits);
}

}  // namespace

void online_logsumexp(const OnlineLogsumexpArgs& args, CUstream_st* stream) {
  if (args.best > kMaxBest) throw ShapeError("online_logsumexp: more than 1024 best are asked for");
  if (args.rows == 0 || args.block == 0) return;
  online_logsumexp_kernel<<<static_cast<unsigned>(args.rows), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
