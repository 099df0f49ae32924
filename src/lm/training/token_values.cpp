#include "token_values.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/tensor/read_back.hpp>

#include "grad_ops.hpp"

namespace mgpu::lm::grad {
namespace {

/// Divides the logits by a temperature. Does nothing if the temperature is 1.
void heat(const HeadBlock& block, double temperature) {
  if (temperature == 1.0) return;
  for (const LogitsPiece& piece : block.pieces)
    at::Tensor(piece.logits).div_(temperature);
}

/// Returns the entropy -sum p log p of each row, [n] float64.
at::Tensor entropies_of(const HeadBlock& block, const RowFacts& facts) {
  at::Tensor entropies = at::zeros_like(facts.log_sums, at::kDouble);
  for (const LogitsPiece& piece : block.pieces) {
    const at::Tensor log_probs = piece.logits - facts.log_sums.unsqueeze(1);
    entropies.sub_((log_probs.exp() * log_probs).sum(1, false, at::kDouble));
  }
  return entropies;
}

std::vector<double> on_host(const at::Tensor& values) {
  const at::Tensor host = tensor::read_back(values);
  const double* first = host.const_data_ptr<double>();
  return {first, first + host.numel()};
}

/// Writes the log-probabilities of the block's targets to the elements of `into`, [N] float64, that
/// belong to the block's tokens.
void put_log_probs(const HeadBlock& block, const RowFacts& facts, const at::Tensor& into) {
  into.index_copy_(0, block.token_index, (facts.target_logits - facts.log_sums).to(at::kDouble));
}

}  // namespace

TokenValues head_values(const HeadArgs& args, const ValueRequest& request) {
  const at::NoGradGuard no_grad;
  const auto of_all = [&] {
    return at::zeros({args.targets.size(0)}, args.hidden.options().dtype(at::kDouble));
  };
  const at::Tensor log_probs = of_all();
  const at::Tensor entropies = request.entropies ? of_all() : at::Tensor();
  const bool has_both = request.plain_log_probs && request.temperature != 1.0;
  const at::Tensor plain = has_both ? of_all() : at::Tensor();
  for_each_block(args, [&](HeadBlock& block, const at::Tensor& /*hidden*/) {
    if (has_both) put_log_probs(block, facts_of(block), plain);
    heat(block, request.temperature);
    const RowFacts facts = facts_of(block);
    put_log_probs(block, facts, log_probs);
    if (request.entropies) entropies.index_copy_(0, block.token_index, entropies_of(block, facts));
  });
  TokenValues values{.log_probs = on_host(log_probs)};
  if (request.plain_log_probs)
    values.plain_log_probs = has_both ? on_host(plain) : values.log_probs;
  if (request.entropies) values.entropies = on_host(entropies);
  return values;
}

BlockLoss weighted_log_probs(const std::vector<double>& slopes, double temperature) {
  at::Tensor of_tokens =
      at::tensor(slopes, at::kDouble);  // [N], moved to the device by the first block
  return [of_tokens, temperature](HeadBlock& block, std::optional<double> scale) mutable {
    if (!scale) return at::Tensor();
    heat(block, temperature);
    const RowFacts facts = facts_of(block);
    of_tokens = of_tokens.to(block.token_index.device());
    const at::Tensor weights = of_tokens.index_select(0, block.token_index)
                                   .mul_(*scale / temperature)
                                   .to(block.pieces.front().logits.scalar_type());  // [n]
    for (const LogitsPiece& piece : block.pieces)
      at::Tensor(piece.logits)
          .sub_(facts.log_sums.unsqueeze(1))
          .exp_()
          .mul_(weights.neg().unsqueeze(1));
    add_at_targets(block, 1.0, weights);
    return at::Tensor();
  };
}

at::Tensor own_outputs(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = hidden.index_select(0, rows);
  at::Tensor outputs = product(x, head.weight, tensor::ComputeKind::f32);
  if (head.bias.defined()) outputs.add_(head.bias);
  return outputs;
}

void add_own_gradients(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows,
                       const at::Tensor& outputs, const at::Tensor& hidden_gradient) {
  const at::NoGradGuard no_grad;
  const at::Tensor x = hidden.index_select(0, rows);
  constexpr auto kCompute = tensor::ComputeKind::f32;
  add_product(gradient_of_leaf(head.weight), outputs.t(), x.t(), kCompute);
  say_gradient_added(head.weight);
  if (head.bias.defined()) {
    gradient_of_leaf(head.bias).add_(outputs.sum(0));
    say_gradient_added(head.bias);
  }
  // The rows are distinct, so the order of additions does not matter on a GPU.
  hidden_gradient.index_add_(0, rows, product(outputs, head.weight.t(), kCompute));
}

}  // namespace mgpu::lm::grad
