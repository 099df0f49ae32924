#include "grad_head.hpp"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/decoder_grads.hpp>

#include "folded_logits.hpp"
#include "grad_ops.hpp"

namespace mgpu::language::grad {
namespace {

constexpr std::int64_t kMostTokens = 256;
constexpr std::int64_t kMostLogits = std::int64_t{1} << 24;

/// Log of the sum of exponentials, logit of the target, and best token of some rows.
struct RowFacts {
  at::Tensor log_sums;  // [n]
  at::Tensor picked;    // [n]
  at::Tensor best;      // [n] int64
};

RowFacts facts_of(const std::vector<LogitsPiece>& pieces, const at::Tensor& targets) {
  const at::Tensor& first = pieces.front().logits;
  if (first.scalar_type() == at::kFloat) {
    FoldedLogits folded(first.size(0), 1, first.options());
    for (const LogitsPiece& piece : pieces)
      folded.fold(piece, targets);
    return {folded.log_sums(), folded.picked, folded.best_ids.squeeze(1)};
  }
  std::vector<at::Tensor> parts;
  for (const LogitsPiece& piece : pieces)
    parts.push_back(piece.logits);
  const at::Tensor logits = at::cat(parts, 1);
  return {logits.logsumexp(1), logits.gather(1, targets.unsqueeze(1)).squeeze(1), logits.argmax(1)};
}

/// Logits become the gradient of scale * loss with respect to them.
void to_gradient(const LogitsPiece& piece, const RowFacts& facts, const at::Tensor& targets,
                 double scale) {
  at::Tensor logits = piece.logits;
  if (logits.is_cpu() && logits.scalar_type() == at::kFloat) {
    kernels::cpu::logits_grad(
        {logits.mutable_data_ptr<float>(), facts.log_sums.const_data_ptr<float>(),
         targets.const_data_ptr<std::int64_t>(), piece.first_id,
         static_cast<std::size_t>(logits.size(0)), static_cast<std::size_t>(logits.size(1)),
         static_cast<float>(scale)});
    return;
  }
  logits.sub_(facts.log_sums.unsqueeze(1)).exp_().mul_(scale);
  const at::Tensor columns = targets - piece.first_id;  // [n]
  const at::Tensor rows = (columns >= 0).logical_and(columns < logits.size(1)).nonzero().squeeze(1);
  const at::Tensor aims = columns.index_select(0, rows);
  logits.index_put_({rows, aims}, at::full({rows.size(0)}, -scale, logits.options()), true);
}

/// Some rows that have a target.
class TokenBlock {
public:
  TokenBlock(const HeadArgs& args, const at::Tensor& hidden, const at::Tensor& targets)
      : args_(args), hidden_(hidden), targets_(targets) {
    const std::int64_t vocab = args.weight.size(0);
    for (std::int64_t id = 0; id < vocab; id += kVocabularyBlock)
      pieces_.push_back({product(hidden, part(id), args.compute), 0, id});
    facts_ = facts_of(pieces_, targets);
  }

  LmSums sums() const {
    return {(facts_.log_sums - facts_.picked).sum(at::kDouble).item<double>(), targets_.size(0),
            (facts_.best == targets_).sum().item<std::int64_t>()};
  }

  /// Adds to `weight`; returns the gradient of the rows.
  at::Tensor gradients(double scale, const at::Tensor& weight) {
    at::Tensor hidden = at::zeros_like(hidden_);
    for (const LogitsPiece& piece : pieces_) {
      to_gradient(piece, facts_, targets_, scale);
      const at::Tensor& grad = piece.logits;
      add_product(hidden, grad, part(piece.first_id).t(), args_.compute);
      add_product(weight.narrow(0, piece.first_id, grad.size(1)), grad.t(), hidden_.t(),
                  args_.compute);
    }
    return hidden;
  }

private:
  at::Tensor part(std::int64_t first_id) const {
    const std::int64_t count = std::min(kVocabularyBlock, args_.weight.size(0) - first_id);
    return args_.weight.narrow(0, first_id, count);
  }

  const HeadArgs& args_;
  at::Tensor hidden_;
  at::Tensor targets_;
  std::vector<LogitsPiece> pieces_;
  RowFacts facts_;
};

}  // namespace

LmSums head_loss(const HeadArgs& args, double grad_scale, HeadGradients* gradients) {
  const at::NoGradGuard no_grad;
  const at::Tensor places = (args.targets != kernels::kIgnoreTarget).nonzero().squeeze(1);
  const at::Tensor hidden = args.hidden.index_select(0, places);
  const at::Tensor targets = args.targets.index_select(0, places);
  at::Tensor grad_rows;
  if (gradients != nullptr) {
    grad_rows = at::zeros_like(hidden);
    *gradients = {at::zeros_like(args.hidden), at::zeros_like(args.weight)};
  }
  LmSums total;
  const std::int64_t at_once =
      std::clamp<std::int64_t>(kMostLogits / args.weight.size(0), 1, kMostTokens);
  for (std::int64_t row = 0; row < hidden.size(0); row += at_once) {
    const std::int64_t count = std::min(at_once, hidden.size(0) - row);
    TokenBlock block(args, hidden.narrow(0, row, count), targets.narrow(0, row, count));
    const LmSums sums = block.sums();
    total.loss += sums.loss;
    total.predictions += sums.predictions;
    total.correct += sums.correct;
    if (gradients != nullptr)
      grad_rows.narrow(0, row, count).copy_(block.gradients(grad_scale, gradients->weight));
  }
  if (gradients != nullptr) gradients->hidden.index_copy_(0, places, grad_rows);
  return total;
}

}  // namespace mgpu::language::grad
