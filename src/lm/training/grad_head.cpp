#include "grad_head.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/decoder_grads.hpp>
#include <mgpu/lm/training/head_blocks.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "grad_ops.hpp"

namespace mgpu::lm::grad {
namespace {

HeadBlocks blocks_of(const HeadArgs& args) {
  return head_blocks(tensor::runs_on_gpu(args.hidden) ? DeviceKind::cuda : DeviceKind::cpu,
                     args.weight.size(0));
}

/// Returns the head's weights for `count` tokens of the vocabulary, from token `first_id` on.
at::Tensor part(const HeadArgs& args, std::int64_t first_id, std::int64_t count) {
  return args.weight.narrow(0, first_id, count);
}

/// The indices of the tokens that have a target, on the host and on the device.
struct Learned {
  explicit Learned(const at::Tensor& targets) {
    const at::Tensor host = tensor::read_back(targets);
    const std::int64_t* target = host.const_data_ptr<std::int64_t>();
    for (std::int64_t n = 0; n < host.numel(); ++n)
      if (target[n] != kernels::kIgnoreTarget) tokens.push_back(n);
    index = at::tensor(tokens, at::kLong).to(targets.device());
  }

  std::vector<std::int64_t> tokens;
  at::Tensor index;  // `tokens` on the device
};

/// Returns the block of the tokens first .. first + count - 1 of `learned`, with their logits.
/// `hidden` has the hidden states of these tokens.
HeadBlock make_block(const HeadArgs& args, const Learned& learned, std::int64_t first,
                     std::int64_t count, const at::Tensor& hidden) {
  const at::Tensor token_index = learned.index.narrow(0, first, count);
  HeadBlock block{{},
                  args.targets.index_select(0, token_index),
                  token_index,
                  std::span(learned.tokens)
                      .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count))};
  const std::int64_t vocab = args.weight.size(0);
  const std::int64_t at_once = blocks_of(args).vocabulary_block;
  for (std::int64_t id = 0; id < vocab; id += at_once) {
    const at::Tensor weights = part(args, id, std::min(at_once, vocab - id));
    block.pieces.push_back({product(hidden, weights, args.compute), 0, id});
  }
  return block;
}

/// Backpropagates the gradients of the logits, which have replaced the logits in the block's
/// pieces. Adds the gradient of the head's weight to `weight`. Returns the gradient of `hidden`,
/// the block's hidden states.
at::Tensor apply_gradients(const HeadArgs& args, const HeadBlock& block, const at::Tensor& hidden,
                           const at::Tensor& weight) {
  at::Tensor rows = at::zeros_like(hidden);
  for (const LogitsPiece& piece : block.pieces) {
    const at::Tensor& grad = piece.logits;
    add_product(rows, grad, part(args, piece.first_id, grad.size(1)).t(), args.compute);
    add_product(weight.narrow(0, piece.first_id, grad.size(1)), grad.t(), hidden.t(), args.compute);
  }
  return rows;
}

/// Replaces the logits by the gradient of scale * cross-entropy with respect to the logits.
void to_gradient(const HeadBlock& block, const RowFacts& facts, double scale) {
  const bool has_kernel = block.pieces.front().logits.scalar_type() == at::kFloat;
  for (const LogitsPiece& piece : block.pieces) {
    at::Tensor logits = piece.logits;
    if (!has_kernel) {
      logits.sub_(facts.log_sums.unsqueeze(1)).exp_().mul_(scale);
      continue;
    }
    const kernels::LogitsGradArgs args{logits.mutable_data_ptr<float>(),
                                       facts.log_sums.const_data_ptr<float>(),
                                       block.targets.const_data_ptr<std::int64_t>(),
                                       piece.first_id,
                                       static_cast<std::size_t>(logits.size(0)),
                                       static_cast<std::size_t>(logits.size(1)),
                                       static_cast<float>(scale)};
    if (tensor::runs_on_gpu(logits))
      kernels::cuda::logits_grad(args, tensor::current_stream(logits));
    else
      kernels::cpu::logits_grad(args);
  }
  if (!has_kernel) add_at_targets(block, -scale);
}

}  // namespace

at::Tensor RowFacts::sums(const at::Tensor& targets, const at::Tensor& weights) const {
  at::Tensor losses = log_sums - target_logits;
  if (weights.defined()) losses.mul_(weights);
  const at::Tensor correct = (best == targets).sum().to(at::kDouble);
  const at::Tensor loss = losses.sum(at::kDouble);
  return at::stack({loss, correct, loss});
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
    const at::Tensor is_elsewhere = (columns < 0).logical_or(columns >= logits.size(1));
    at::Tensor values = at::full(columns.sizes(), value, logits.options());
    if (weights.defined()) values.mul_(weights);
    // If a row's target is in another piece, -0 is added, which changes no bits. Each row gets one
    // addition, so on a GPU the order of additions does not matter.
    values.masked_fill_(is_elsewhere, -0.0);
    logits.scatter_add_(1, columns.masked_fill(is_elsewhere, 0).unsqueeze(1), values.unsqueeze(1));
  }
}

at::Tensor cross_entropy(HeadBlock& block, std::optional<double> scale) {
  const RowFacts facts = facts_of(block);
  if (scale) to_gradient(block, facts, *scale);
  return facts.sums(block.targets);
}

void for_each_block(const HeadArgs& args, const BlockVisit& visit) {
  const Learned learned(args.targets);
  const std::int64_t all = learned.index.size(0);
  const std::int64_t at_once = blocks_of(args).rows;
  for (std::int64_t first = 0; first < all; first += at_once) {
    const std::int64_t count = std::min(at_once, all - first);
    const at::Tensor hidden = args.hidden.index_select(0, learned.index.narrow(0, first, count));
    HeadBlock block = make_block(args, learned, first, count, hidden);
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
  at::Tensor sums;  // [3]
  for_each_block(args, [&](HeadBlock& block, const at::Tensor& hidden) {
    const at::Tensor here = loss(block, scale);
    if (here.defined()) {
      sums = sums.defined() ? sums + here : here;
      total.predictions += block.targets.size(0);
    }
    if (gradients != nullptr)
      gradients->hidden.index_copy_(0, block.token_index,
                                    apply_gradients(args, block, hidden, gradients->weight));
  });
  if (!sums.defined()) return total;
  const at::Tensor host = tensor::read_back(sums);
  const double* sum = host.const_data_ptr<double>();
  total.loss = sum[0];
  total.correct = static_cast<std::int64_t>(sum[1]);
  total.cross_entropy = sum[2];
  return total;
}

}  // namespace mgpu::lm::grad

namespace mgpu::lm {

HeadBlocks head_blocks(DeviceKind device, std::int64_t vocab) {
  const bool on_gpu = device == DeviceKind::cuda;
  const std::int64_t most_rows = on_gpu ? 4096 : 512;
  const std::int64_t most_logits = std::int64_t{1} << (on_gpu ? 28 : 24);
  return {std::clamp<std::int64_t>(most_logits / vocab, 1, most_rows),
          (on_gpu ? 8 : 1) * kVocabularyBlock};
}

}  // namespace mgpu::lm
