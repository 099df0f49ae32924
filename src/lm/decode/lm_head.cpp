#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "online_logits.hpp"

namespace mgpu::lm {

HeadResult apply_head(const LanguageModel& model, const at::Tensor& hidden,
                      const at::Tensor& targets, std::int64_t best) {
  const at::NoGradGuard no_grad;
  const LmConfig& config = model.config();
  if (hidden.dim() != 2 || hidden.size(1) != config.hidden_size)
    throw ShapeError("apply_head: hidden states of another width");
  if (targets.defined() && (targets.dim() != 1 || targets.size(0) != hidden.size(0)))
    throw ShapeError("apply_head: not one target per hidden state");
  if (best < 0 || best > config.vocab) throw ShapeError("apply_head: more best than tokens");
  const at::Tensor aims = targets.defined() ? targets.contiguous() : targets;
  OnlineLogits folded(hidden.size(0), best, hidden.options());
  for_each_piece(model, hidden, [&](const LogitsPiece& piece) { folded.fold(piece, aims); });
  folded.combine(model, aims);
  HeadResult result;
  result.log_sums = folded.log_sums();
  if (targets.defined()) result.log_probs = folded.picked - result.log_sums;
  result.best_ids = folded.best_ids;
  result.best_logits = folded.best_logits;
  return result;
}

}  // namespace mgpu::lm
