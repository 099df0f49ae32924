#include "grad_head.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/decoder_grads.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "grad_ops.hpp"

namespace mgpu::lm::grad {
namespace {

constexpr std::int64_t kMostTokens = 512;
constexpr std::int64_t kMostLogits = std::int64_t{1} << 24;

/// The head's weights for the tokens of a piece.
at::Tensor part(const HeadArgs& args, std::int64_t first_id) {
  const std::int64_t count = std::min(kVocabularyBlock, args.weight.size(0) - first_id);
  return args.weight.narrow(0, first_id, count);
}

HeadBlock make_block(const HeadArgs& args, const at::Tensor& hidden, const at::Tensor& places) {
  HeadBlock block{{}, args.targets.index_select(0, places), places};
  for (std::int64_t id = 0; id < args.weight.size(0); id += kVocabularyBlock)
    block.pieces.push_back({product(hidden, part(args, id), args.compute), 0, id});
  return block;
}

/// Calls visit(block, hidden [n, D]) for all tokens that have a target.
template <class Visit>
void for_each_block(const HeadArgs& args, const Visit& visit) {
  const at::Tensor places = (args.targets != kernels::kIgnoreTarget).nonzero().squeeze(1);
  const std::int64_t at_once =
      std::clamp<std::int64_t>(kMostLogits / args.weight.size(0), 1, kMostTokens);
  for (std::int64_t row = 0; row < places.size(0); row += at_once) {
    const at::Tensor here = places.narrow(0, row, std::min(at_once, places.size(0) - row));
    const at::Tensor hidden = args.hidden.index_select(0, here);
    HeadBlock block = make_block(args, hidden, here);
    visit(block, hidden);
  }
}

/// Divides the logits by a temperature; by 1 they keep their bits.
void heat(const HeadBlock& block, double temperature) {
  if (temperature == 1.0) return;
  for (const LogitsPiece& piece : block.pieces)
    at::Tensor(piece.logits).div_(temperature);
}

/// -sum p log p of each row, [n] float64.
at::Tensor entropies_of(const HeadBlock& block, const RowFacts& facts) {
  at::Tensor entropies = at::zeros_like(facts.log_sums, at::kDouble);
  for (const LogitsPiece& piece : block.pieces) {
    const at::Tensor log_probs = piece.logits - facts.log_sums.unsqueeze(1);
    entropies.sub_((log_probs.exp() * log_probs).sum(1, false, at::kDouble));
  }
  return entropies;
}

std::vector<double> on_host(const at::Tensor& values) {
  const at::Tensor host = values.cpu();
  const double* first = host.const_data_ptr<double>();
  return {first, first + host.numel()};
}

/// Adds to `weight`; returns the gradient of the rows.
at::Tensor apply_gradients(const HeadArgs& args, const HeadBlock& block, const at::Tensor& hidden,
                           const at::Tensor& weight) {
  at::Tensor rows = at::zeros_like(hidden);
  for (const LogitsPiece& piece : block.pieces) {
    const at::Tensor& grad = piece.logits;
    add_product(rows, grad, part(args, piece.first_id).t(), args.compute);
    add_product(weight.narrow(0, piece.first_id, grad.size(1)), grad.t(), hidden.t(), args.compute);
  }
  return rows;
}

/// Logits become the gradient of scale * cross-entropy with respect to them.
void to_gradient(const HeadBlock& block, const RowFacts& facts, double scale) {
  const at::Tensor& first = block.pieces.front().logits;
  const bool has_kernel = !tensor::runs_on_gpu(first) && first.scalar_type() == at::kFloat;
  for (const LogitsPiece& piece : block.pieces) {
    at::Tensor logits = piece.logits;
    if (!has_kernel) {
      logits.sub_(facts.log_sums.unsqueeze(1)).exp_().mul_(scale);
      continue;
    }
    kernels::cpu::logits_grad(
        {logits.mutable_data_ptr<float>(), facts.log_sums.const_data_ptr<float>(),
         block.targets.const_data_ptr<std::int64_t>(), piece.first_id,
         static_cast<std::size_t>(logits.size(0)), static_cast<std::size_t>(logits.size(1)),
         static_cast<float>(scale)});
  }
  if (!has_kernel) add_at_targets(block, -scale);
}

}  // namespace

LmSums RowFacts::sums(const at::Tensor& targets) const {
  return {(log_sums - picked).sum(at::kDouble).item<double>(), targets.size(0),
          (best == targets).sum().item<std::int64_t>()};
}

RowFacts facts_of(const HeadBlock& block) {
  const at::Tensor& first = block.pieces.front().logits;
  if (first.scalar_type() == at::kFloat) {
    FoldedLogits folded(first.size(0), 1, first.options());
    for (const LogitsPiece& piece : block.pieces)
      folded.fold(piece, block.targets);
    return {folded.log_sums(), folded.picked, folded.best_ids.squeeze(1)};
  }
  std::vector<at::Tensor> parts;
  for (const LogitsPiece& piece : block.pieces)
    parts.push_back(piece.logits);
  const at::Tensor logits = at::cat(parts, 1);
  return {logits.logsumexp(1), logits.gather(1, block.targets.unsqueeze(1)).squeeze(1),
          logits.argmax(1)};
}

void add_at_targets(const HeadBlock& block, double value, const at::Tensor& weights) {
  for (const LogitsPiece& piece : block.pieces) {
    at::Tensor logits = piece.logits;
    const at::Tensor columns = block.targets - piece.first_id;  // [n]
    const at::Tensor rows =
        (columns >= 0).logical_and(columns < logits.size(1)).nonzero().squeeze(1);
    const at::Tensor aims = columns.index_select(0, rows);
    at::Tensor values = at::full({rows.size(0)}, value, logits.options());
    if (weights.defined()) values.mul_(weights.index_select(0, rows));
    logits.index_put_({rows, aims}, values, true);
  }
}

LmSums cross_entropy(HeadBlock& block, std::optional<double> scale) {
  const RowFacts facts = facts_of(block);
  if (scale) to_gradient(block, facts, *scale);
  return facts.sums(block.targets);
}

LmSums head_loss(const HeadArgs& args, const BlockLoss& loss, double grad_scale,
                 HeadGradients* gradients) {
  const at::NoGradGuard no_grad;
  const std::optional<double> scale =
      gradients == nullptr ? std::nullopt : std::optional(grad_scale);
  if (gradients != nullptr) {
    gradients->hidden = at::zeros_like(args.hidden);
    if (!gradients->weight.defined()) gradients->weight = at::zeros_like(args.weight);
  }
  LmSums total;
  for_each_block(args, [&](HeadBlock& block, const at::Tensor& hidden) {
    total += loss(block, scale);
    if (gradients != nullptr)
      gradients->hidden.index_copy_(0, block.places,
                                    apply_gradients(args, block, hidden, gradients->weight));
  });
  return total;
}

TokenValues head_values(const HeadArgs& args, const ValueRequest& request) {
  const at::NoGradGuard no_grad;
  const auto of_all = [&] {
    return at::zeros({args.targets.size(0)}, args.hidden.options().dtype(at::kDouble));
  };
  const at::Tensor log_probs = of_all();
  const at::Tensor entropies = request.entropies ? of_all() : at::Tensor();
  for_each_block(args, [&](HeadBlock& block, const at::Tensor& /*hidden*/) {
    heat(block, request.temperature);
    const RowFacts facts = facts_of(block);
    log_probs.index_copy_(0, block.places, (facts.picked - facts.log_sums).to(at::kDouble));
    if (request.entropies) entropies.index_copy_(0, block.places, entropies_of(block, facts));
  });
  TokenValues values{on_host(log_probs), {}, {}};
  if (request.entropies) values.entropies = on_host(entropies);
  return values;
}

BlockLoss weighted_log_probs(const std::vector<double>& slopes, double temperature) {
  at::Tensor of_tokens =
      at::tensor(slopes, at::kDouble);  // [N], on the device from the first block
  return [of_tokens, temperature](HeadBlock& block, std::optional<double> scale) mutable {
    if (!scale) return LmSums{};
    heat(block, temperature);
    const RowFacts facts = facts_of(block);
    of_tokens = of_tokens.to(block.places.device());
    const at::Tensor weights = of_tokens.index_select(0, block.places)
                                   .mul_(*scale / temperature)
                                   .to(block.pieces.front().logits.scalar_type());  // [n]
    for (const LogitsPiece& piece : block.pieces)
      at::Tensor(piece.logits)
          .sub_(facts.log_sums.unsqueeze(1))
          .exp_()
          .mul_(weights.neg().unsqueeze(1));
    add_at_targets(block, 1.0, weights);
    return LmSums{};
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
  hidden_gradient.index_add_(0, rows, product(outputs, head.weight.t(), kCompute));
}

}  // namespace mgpu::lm::grad
