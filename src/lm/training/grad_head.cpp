#include "grad_head.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/decoder_grads.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "grad_ops.hpp"

namespace mgpu::lm::grad {
namespace {

constexpr std::int64_t kMaxTokens = 512;
constexpr std::int64_t kMaxLogits = std::int64_t{1} << 24;

/// Returns the head's weights for the piece of the vocabulary that starts with token `first_id`.
at::Tensor part(const HeadArgs& args, std::int64_t first_id) {
  const std::int64_t count = std::min(kVocabularyBlock, args.weight.size(0) - first_id);
  return args.weight.narrow(0, first_id, count);
}

HeadBlock make_block(const HeadArgs& args, const at::Tensor& hidden,
                     const at::Tensor& token_index) {
  HeadBlock block{{}, args.targets.index_select(0, token_index), token_index};
  for (std::int64_t id = 0; id < args.weight.size(0); id += kVocabularyBlock)
    block.pieces.push_back({product(hidden, part(args, id), args.compute), 0, id});
  return block;
}

/// Adds the block's gradient of the head's weight to `weight`. Returns the gradient of `hidden`,
/// the block's hidden states.
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

/// Replaces the logits by the gradient of scale * cross-entropy with respect to the logits.
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

LmSums RowFacts::sums(const at::Tensor& targets, const at::Tensor& weights) const {
  at::Tensor losses = log_sums - target_logits;
  if (weights.defined()) losses.mul_(weights);
  const at::Tensor correct = (best == targets).sum().to(at::kDouble);
  const at::Tensor both = tensor::read_back(at::stack({losses.sum(at::kDouble), correct}));
  const double* sum = both.const_data_ptr<double>();
  return {sum[0], targets.size(0), static_cast<std::int64_t>(sum[1]), sum[0]};
}

RowFacts facts_of(const HeadBlock& block) {
  const at::Tensor& first = block.pieces.front().logits;
  if (first.scalar_type() == at::kFloat) {
    OnlineLogits folded(first.size(0), 1, first.options());
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
        tensor::places_of_true((columns >= 0).logical_and(columns < logits.size(1))).squeeze(1);
    const at::Tensor targets_here = columns.index_select(0, rows);
    at::Tensor values = at::full({rows.size(0)}, value, logits.options());
    if (weights.defined()) values.mul_(weights.index_select(0, rows));
    logits.index_put_({rows, targets_here}, values, true);
  }
}

LmSums cross_entropy(HeadBlock& block, std::optional<double> scale) {
  const RowFacts facts = facts_of(block);
  if (scale) to_gradient(block, facts, *scale);
  return facts.sums(block.targets);
}

void for_each_block(const HeadArgs& args, const BlockVisit& visit) {
  const at::Tensor has_target =
      tensor::places_of_true(args.targets != kernels::kIgnoreTarget).squeeze(1);
  const std::int64_t at_once =
      std::clamp<std::int64_t>(kMaxLogits / args.weight.size(0), 1, kMaxTokens);
  for (std::int64_t row = 0; row < has_target.size(0); row += at_once) {
    const at::Tensor token_index =
        has_target.narrow(0, row, std::min(at_once, has_target.size(0) - row));
    const at::Tensor hidden = args.hidden.index_select(0, token_index);
    HeadBlock block = make_block(args, hidden, token_index);
    visit(block, hidden);
  }
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
      gradients->hidden.index_copy_(0, block.token_index,
                                    apply_gradients(args, block, hidden, gradients->weight));
  });
  return total;
}

}  // namespace mgpu::lm::grad
