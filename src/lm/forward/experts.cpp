#include "experts.hpp"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/tensor/read_back.hpp>

#include "row_ops.hpp"

namespace mgpu::lm {
namespace {

/// Returns the indices of the experts of a token, largest router logit first. If a logit is NaN,
/// the choice is arbitrary, and the weights of the experts are NaN only if an expert with a NaN
/// logit is chosen.
std::vector<std::size_t> best_of(const float* logits, const ExpertConfig& experts) {
  const auto count = static_cast<std::size_t>(experts.count);
  std::vector<std::size_t> best;
  std::vector<bool> is_taken(count, false);
  while (best.size() < static_cast<std::size_t>(experts.used)) {
    std::size_t top = count;
    for (std::size_t e = 0; e < count; ++e)
      if (!is_taken[e] && (top == count || logits[e] > logits[top])) top = e;
    is_taken[top] = true;
    best.push_back(top);
  }
  return best;
}

void add_token(const float* logits, const ExpertConfig& experts, std::int64_t row,
               std::vector<ExpertLoad>& loads) {
  const std::vector<std::size_t> best = best_of(logits, experts);
  std::vector<float> shares;
  float sum = 0.0F;
  for (const std::size_t e : best) {
    shares.push_back(std::exp(logits[e] - logits[best.front()]));
    sum += shares.back();
  }
  for (std::size_t k = 0; k < best.size(); ++k) {
    loads[best[k]].rows.push_back(row);
    loads[best[k]].shares.push_back(shares[k] / sum);
  }
}

}  // namespace

std::vector<ExpertLoad> route(const LmConfig& config, const at::Tensor& logits) {
  std::vector<ExpertLoad> loads(static_cast<std::size_t>(config.experts.count));
  const at::Tensor on_host = tensor::read_back(logits.to(at::kFloat)).contiguous();
  for (std::int64_t row = 0; row < on_host.size(0); ++row)
    add_token(on_host.const_data_ptr<float>() + row * config.experts.count, config.experts, row,
              loads);
  return loads;
}

at::Tensor mix_experts(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x) {
  const std::vector<ExpertLoad> loads = route(config, project(x, weights.router));
  const at::Tensor out = at::zeros_like(x);
  for (std::size_t e = 0; e < loads.size(); ++e) {
    if (loads[e].rows.empty()) continue;
    const Expert& expert = weights.experts[e];
    const at::Tensor rows = at::tensor(loads[e].rows, at::kLong).to(x.device());
    const at::Tensor shares = at::tensor(loads[e].shares, at::kFloat).to(x.device());
    const at::Tensor input = x.index_select(0, rows);
    const at::Tensor inner =
        clamped_activation(config.experts, project(input, expert.gate), project(input, expert.up));
    // Each token occurs at most once in `rows`, so the order in which a GPU adds does not matter.
    out.index_add_(0, rows, project(inner, expert.down).mul_(shares.unsqueeze(1)));
  }
  return out;
}

}  // namespace mgpu::lm
