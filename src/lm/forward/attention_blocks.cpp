#include "attention_blocks.hpp"

#include <algorithm>
#include <limits>

#include <ATen/ATen.h>

namespace mgpu::lm::grad {
namespace {

constexpr std::int64_t kBlock = 128;  // queries per block

/// A block of queries of one span with the keys that they attend to. Shapes here: S query heads per
/// key head, B queries, K keys.
class Block {
public:
  Block(const TokenRange& range, std::int64_t first, const LayerConfig& layer)
      : scale_(layer.score_scale),
        window_(layer.window),
        first_query_(range.begin + first),
        queries_(std::min(kBlock, range.count - first)),
        first_key_(range.begin +
                   (layer.window == 0 ? 0 : std::max<std::int64_t>(0, first - layer.window + 1))),
        keys_(first_query_ + queries_ - first_key_) {}

  /// Returns the rows of the block's queries in x, [N, H, C], as a tensor [G, S * B, C].
  at::Tensor of_queries(const at::Tensor& x, std::int64_t kv_heads) const {
    const at::Tensor rows = x.narrow(0, first_query_, queries_);
    return rows.view({queries_, kv_heads, -1, x.size(2)})
        .permute({1, 2, 0, 3})
        .reshape({kv_heads, -1, x.size(2)});
  }

  /// Returns x, [G, S * B, C], as rows of the block's queries, [B, H, C].
  at::Tensor to_rows(const at::Tensor& x) const {
    return x.view({x.size(0), -1, queries_, x.size(2)})
        .permute({2, 0, 1, 3})
        .reshape({queries_, -1, x.size(2)});
  }

  /// Returns the rows of the block's keys in x, [N, G, C], as a view [G, K, C].
  at::Tensor of_keys(const at::Tensor& x) const {
    return x.narrow(0, first_key_, keys_).transpose(0, 1);
  }

  at::Tensor rows(const at::Tensor& x) const { return x.narrow(0, first_query_, queries_); }

  /// The probabilities of the keys, [G, S * B, K], and of the sinks, [G, S * B, 1]; undefined
  /// without sinks.
  struct Probabilities {
    at::Tensor of_keys;
    at::Tensor of_sinks;
  };

  /// Computes the probabilities. q and k are results of of_queries() and of_keys(); sinks is [H] or
  /// [0].
  Probabilities probabilities(const at::Tensor& q, const at::Tensor& k,
                              const at::Tensor& sinks) const {
    const at::Tensor scores = at::bmm(q, k.transpose(1, 2)).mul_(scale_);
    scores.view({q.size(0), -1, queries_, keys_})
        .masked_fill_(hidden(q), -std::numeric_limits<double>::infinity());
    if (sinks.numel() == 0) return {scores.softmax(-1), {}};
    const at::Tensor more = sinks.view({q.size(0), -1, 1}).expand({-1, -1, queries_});
    const at::Tensor all = at::cat({scores, more.reshape({q.size(0), -1, 1})}, -1).softmax(-1);
    return {all.narrow(-1, 0, keys_), all.narrow(-1, keys_, 1)};
  }

  /// Sums x, [G, S * B, 1], over the queries of the block. Returns one sum per head, [H].
  at::Tensor to_heads(const at::Tensor& x) const { return x.reshape({-1, queries_}).sum(-1); }

  double scale() const { return scale_; }

private:
  /// Returns the mask [queries, keys], true where a query must not attend to a key.
  at::Tensor hidden(const at::Tensor& like) const {
    const auto options = like.options().dtype(at::kLong);
    const std::int64_t offset = first_query_ - first_key_;
    const at::Tensor distance =
        at::arange(offset, offset + queries_, options).unsqueeze(1) - at::arange(keys_, options);
    const at::Tensor later = distance < 0;
    return window_ == 0 ? later : later.logical_or(distance >= window_);
  }

  double scale_;
  std::int64_t window_;
  std::int64_t first_query_;  // index among the N tokens of the call
  std::int64_t queries_;
  std::int64_t first_key_;  // index among the N tokens of the call
  std::int64_t keys_;
};

template <class Visit>
void for_each_block(const Sequences& sequences, const LayerConfig& layer, Visit visit) {
  for (const TokenRange& range : sequences.ranges)
    for (std::int64_t first = 0; first < range.count; first += kBlock)
      visit(Block(range, first, layer));
}

}  // namespace

at::Tensor attend_in_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& sinks, const AttendedSequences& attended) {
  at::Tensor out = at::empty_like(q);  // [N, H, C]
  for_each_block(attended.sequences, attended.layer, [&](const Block& block) {
    const at::Tensor queries = block.of_queries(q, k.size(1));
    const at::Tensor p = block.probabilities(queries, block.of_keys(k), sinks).of_keys;
    block.rows(out).copy_(block.to_rows(at::bmm(p, block.of_keys(v))));
  });
  return out.view({q.size(0), -1});
}

AttentionGrads grads_in_blocks(const AttentionGrads& in, const at::Tensor& grad_out,
                               const AttendedSequences& attended) {
  const std::int64_t kv_heads = in.k.size(1);
  AttentionGrads grads{at::empty_like(in.q), at::zeros_like(in.k), at::zeros_like(in.v),
                       at::zeros_like(in.sinks)};
  for_each_block(attended.sequences, attended.layer, [&](const Block& block) {
    const at::Tensor queries = block.of_queries(in.q, kv_heads);
    const at::Tensor grad = block.of_queries(grad_out, kv_heads);
    const auto [p, of_sinks] = block.probabilities(queries, block.of_keys(in.k), in.sinks);
    block.of_keys(grads.v).add_(at::bmm(p.transpose(1, 2), grad));
    at::Tensor grad_p = at::bmm(grad, block.of_keys(in.v).transpose(1, 2));
    const at::Tensor along = (grad_p * p).sum(-1, true);
    if (in.sinks.numel() > 0) grads.sinks.sub_(block.to_heads(of_sinks * along));
    const at::Tensor grad_scores = grad_p.sub_(along).mul_(p).mul_(block.scale());
    block.rows(grads.q).copy_(block.to_rows(at::bmm(grad_scores, block.of_keys(in.k))));
    block.of_keys(grads.k).add_(at::bmm(grad_scores.transpose(1, 2), queries));
  });
  return grads;
}

}  // namespace mgpu::lm::grad
