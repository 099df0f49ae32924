#include "draw_from_best.hpp"

#include <algorithm>

#include <ATen/ATen.h>

#include "best_tokens.hpp"

// Shapes: N = rows, K = best tokens of each row.
namespace mgpu::lm {
namespace {

/// Returns the cumulative sums of each row, [N, K], added in the order of the tokens. On a GPU,
/// cumsum() keeps this order only along the columns of a matrix that has several columns. So each
/// row is copied into two columns of such a matrix.
at::Tensor reached(const at::Tensor& probabilities) {
  const at::Tensor columns = at::cat({probabilities, probabilities}).t().contiguous();  // [K, 2 N]
  return columns.cumsum(0).t().narrow(0, 0, probabilities.size(0));
}

/// Returns `probabilities`, [N, K], with each row scaled to the sum 1.
at::Tensor scaled(const at::Tensor& probabilities) {
  return probabilities * reached(probabilities).narrow(1, -1, 1).reciprocal();
}

/// Returns the probabilities of the best tokens after temperature and top p, [N, K] float64.
at::Tensor probabilities_of(const BestTokens& best, const SamplingConfig& config) {
  // The divisor is a tensor, because libtorch on a GPU replaces a division by a number by a product
  // with the reciprocal, which is rounded differently.
  const at::Tensor temperature = at::full({1}, config.temperature, best.logits.options());
  const at::Tensor scores = best.logits.div(temperature).to(at::kDouble);
  const at::Tensor shares = (scores - scores.narrow(1, 0, 1)).exp();
  const at::Tensor kept = scaled(shares.masked_fill(best.ids < 0, 0.0));
  if (config.top_p == 1.0) return kept;
  const at::Tensor before =
      at::constant_pad_nd(reached(kept).narrow(1, 0, kept.size(1) - 1), {1, 0});
  return scaled(kept.masked_fill(before >= config.top_p, 0.0));
}

/// Returns the index of the drawn token in each row, [N] int64, by the rule of pick() in
/// top_k_top_p.hpp.
at::Tensor picks(const at::Tensor& probabilities, const at::Tensor& uniforms) {
  const at::Tensor sums = reached(probabilities);
  const at::Tensor aims = uniforms.unsqueeze(1) * sums.narrow(1, -1, 1);
  const at::Tensor last = (probabilities > 0.0).sum(1) - 1;
  return at::minimum((sums <= aims).sum(1), last).clamp_min(0);
}

}  // namespace

DrawnRows draw_from_best(const SampledRows& rows, const SamplingConfig& config,
                         const at::Tensor& uniforms) {
  const std::int64_t count = std::min(config.top_k, rows.model.config().vocab);
  const BestTokens best = best_tokens(rows, config, count);
  const at::Tensor index = picks(probabilities_of(best, config), uniforms).unsqueeze(1);
  const auto picked = [&](const at::Tensor& values) { return values.gather(1, index).squeeze(1); };
  const at::Tensor ids = picked(best.ids).clamp_min(0);
  return {ids,
          best.log_probs.numel() > 0 ? picked(best.log_probs)
                                     : apply_head(rows.model, rows.hidden, ids, 0).log_probs,
          best.log_sums,
          best.divergences.numel() > 0 ? best.divergences
                                       : at::zeros({ids.size(0)}, uniforms.options())};
}

}  // namespace mgpu::lm
