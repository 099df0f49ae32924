#include "grad_experts.hpp"

#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "grad_ops.hpp"
#include "lm/forward/experts.hpp"
#include "lm/forward/row_ops.hpp"

namespace mgpu::lm::grad {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor rows_of(const ExpertLoad& load, const at::Tensor& like) {
  return at::tensor(load.rows, at::kLong).to(like.device());
}

/// Returns the routing weights ("shares") of E experts for N tokens, [N, E]. A weight is 0 if the
/// token does not use the expert.
at::Tensor shares_of(const at::Tensor& logits, const std::vector<ExpertLoad>& loads) {
  if (logits.scalar_type() == at::kFloat) {
    const at::Tensor shares = at::zeros_like(logits);
    for (std::size_t e = 0; e < loads.size(); ++e)
      shares.select(1, static_cast<std::int64_t>(e))
          .index_copy_(0, rows_of(loads[e], logits),
                       at::tensor(loads[e].shares, at::kFloat).to(logits.device()));
    return shares;
  }
  const at::Tensor chosen = at::full_like(logits, -std::numeric_limits<double>::infinity());
  for (std::size_t e = 0; e < loads.size(); ++e) {
    const at::Tensor rows = rows_of(loads[e], logits);
    const auto column = static_cast<std::int64_t>(e);
    chosen.select(1, column).index_copy_(0, rows, logits.select(1, column).index_select(0, rows));
  }
  return chosen.softmax(-1);
}

/// Computes shares_of() with a gradient. A token's weights for the experts that it uses are the
/// softmax of the router logits of these experts.
struct ShareFunction : Function<ShareFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& logits,
                            const std::vector<ExpertLoad>* loads) {
    const at::Tensor shares = shares_of(logits, *loads);
    ctx->save_for_backward({shares});
    return shares;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const at::Tensor shares = ctx->get_saved_variables()[0];
    const at::Tensor along = (grads[0] * shares).sum(-1, true);
    return {(grads[0] - along) * shares, {}};
  }
};

/// Computes (up + 1) * gate * sigmoid(gain * gate), with gate and up clamped as in ExpertConfig.
struct ClampedFunction : Function<ClampedFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up,
                            double gain, double limit) {
    ctx->save_for_backward({gate, up});
    ctx->saved_data["gain"] = gain;
    ctx->saved_data["limit"] = limit;
    if (gate.scalar_type() == at::kFloat)
      return clamped_activation({.gain = gain, .limit = limit}, gate, up);
    const at::Tensor low = gate.clamp_max(limit);
    return (up.clamp(-limit, limit) + 1.0) * low * (low * gain).sigmoid();
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();  // gate, up
    const double gain = ctx->saved_data["gain"].toDouble();
    const double limit = ctx->saved_data["limit"].toDouble();
    const at::Tensor low = saved[0].clamp_max(limit);
    const at::Tensor gates = (low * gain).sigmoid();
    const at::Tensor slope = gates + gain * low * gates * (1.0 - gates);
    const at::Tensor factor = saved[1].clamp(-limit, limit) + 1.0;
    return {grads[0] * factor * slope * (saved[0] <= limit),
            grads[0] * low * gates * (saved[1].abs() <= limit),
            {},
            {}};
  }
};

}  // namespace

at::Tensor mix_experts(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x,
                       tensor::ComputeKind compute) {
  const at::Tensor logits = project(x, weights.router, tensor::ComputeKind::f32);  // [N, E]
  const std::vector<ExpertLoad> loads = route(config, logits.detach());
  const at::Tensor shares = ShareFunction::apply(logits, &loads);  // [N, E]
  at::Tensor out = at::zeros_like(x);
  for (std::size_t e = 0; e < loads.size(); ++e) {
    if (loads[e].rows.empty()) continue;
    const Expert& expert = weights.experts[e];
    const at::Tensor rows = rows_of(loads[e], x);
    const at::Tensor input = x.index_select(0, rows);
    const at::Tensor inner = ClampedFunction::apply(project(input, expert.gate, compute),
                                                    project(input, expert.up, compute),
                                                    config.experts.gain, config.experts.limit);
    const at::Tensor share =
        shares.select(1, static_cast<std::int64_t>(e)).index_select(0, rows).unsqueeze(1);
    // `rows` contains each token at most once, so on a GPU the order of additions does not matter.
    out.index_add_(0, rows, project(inner, expert.down, compute) * share);
  }
  return out;
}

}  // namespace mgpu::lm::grad
