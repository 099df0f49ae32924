// Each thread block processes one row at a time. The threads of the block loop over the ids of the
// row. These ids are distinct, so no two threads change the same logit.
#include <mgpu/kernels/repetition_penalty.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
namespace {

constexpr unsigned kThreads = 256;

__global__ void repetition_penalty_kernel(RepetitionPenaltyArgs args) {
  for (std::size_t n = blockIdx.x; n < args.rows; n += gridDim.x) {
    float* logits = args.logits + n * args.block;
    for (std::int64_t i = args.spans[2 * n] + threadIdx.x; i < args.spans[2 * n + 1];
         i += kThreads) {
      const std::int64_t place = args.ids[i] - args.first_id;
      if (place < 0 || static_cast<std::size_t>(place) >= args.block) continue;
      const float logit = logits[place];
      logits[place] = logit < 0.0F ? logit * args.penalty : logit / args.penalty;
    }
  }
}

}  // namespace

void repetition_penalty(const RepetitionPenaltyArgs& args, CUstream_st* stream) {
  if (args.rows == 0) return;
  repetition_penalty_kernel<<<blocks_for(args.rows, 1), kThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace mgpu::kernels::cuda
