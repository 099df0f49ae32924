#include <algorithm>

#include <mgpu/kernels/repetition_penalty.hpp>

namespace mgpu::kernels::cpu {

void repetition_penalty(const RepetitionPenaltyArgs& args) {
  const std::int64_t end_id = args.first_id + static_cast<std::int64_t>(args.block);
  for (std::size_t n = 0; n < args.rows; ++n) {
    float* logits = args.logits + n * args.block;
    const std::int64_t* end = args.ids + args.spans[2 * n + 1];
    const std::int64_t* id = std::lower_bound(args.ids + args.spans[2 * n], end, args.first_id);
    for (; id != end && *id < end_id; ++id) {
      float& logit = logits[*id - args.first_id];
      logit = logit < 0.0F ? logit * args.penalty : logit / args.penalty;
    }
  }
}

}  // namespace mgpu::kernels::cpu
