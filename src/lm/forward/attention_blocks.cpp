#include "attention_blocks.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

namespace mgpu::lm::grad {
namespace {

constexpr std::int64_t kBlock = 128;  // queries per block

/// Consecutive rows of a tensor that has one row per token.
struct Rows {
  std::int64_t begin;
  std::int64_t count;
};

/// A block of queries of one sequence, with the keys that they attend to.
///
/// Shapes: N tokens of attend_in_blocks() or grads_in_blocks(), H query heads, G key heads, C head
///         width, S = H / G; B queries and K keys of the block
class Block {
public:
  /// `first` is the index of the block's first query among the tokens of `range` (prefix excluded).
  Block(const TokenRange& range, std::int64_t first, const LayerConfig& layer)
      : scale_(layer.score_scale),
        window_(layer.window),
        first_query_(range.begin + first),
        queries_(std::min(kBlock, range.count - first)) {
    const std::int64_t query = range.prefix_count + first;  // position of the first query in the
                                                            // sequence
    const std::int64_t key = window_ == 0 ? 0 : std::max<std::int64_t>(0, query - window_ + 1);
    first_offset_ = query - key;
    keys_ = first_offset_ + queries_;
    if (key < range.prefix_count)
      key_rows_.push_back({range.prefix_begin + key, range.prefix_count - key});
    const std::int64_t skipped = std::max<std::int64_t>(0, key - range.prefix_count);
    key_rows_.push_back({range.begin + skipped, first + queries_ - skipped});
  }

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

  /// Returns the rows of the block's keys in x, [N, G, C], as a tensor [G, K, C].
  at::Tensor of_keys(const at::Tensor& x) const {
    std::vector<at::Tensor> parts;
    for (const Rows& rows : key_rows_)
      parts.push_back(x.narrow(0, rows.begin, rows.count));
    return (parts.size() == 1 ? parts.front() : at::cat(parts)).transpose(0, 1);
  }

  /// Adds x, [G, K, C], to the rows of the block's keys in `sums`, [N, G, C].
  void add_to_keys(const at::Tensor& sums, const at::Tensor& x) const {
    std::int64_t done = 0;
    for (const Rows& rows : key_rows_) {
      sums.narrow(0, rows.begin, rows.count).transpose(0, 1).add_(x.narrow(1, done, rows.count));
      done += rows.count;
    }
  }

  at::Tensor rows(const at::Tensor& x) const { return x.narrow(0, first_query_, queries_); }

  /// The probabilities of the keys, [G, S * B, K], and those of the sinks, [G, S * B, 1].
  /// `of_sinks` is undefined without sinks.
  struct Probabilities {
    at::Tensor of_keys;
    at::Tensor of_sinks;
  };

  /// Returns the probabilities. q and k are results of of_queries() and of_keys(); sinks is [H] or
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

  /// Returns the sums of x, [G, S * B, 1], over the queries of the block: one sum per query head,
  /// [H].
  at::Tensor to_heads(const at::Tensor& x) const { return x.reshape({-1, queries_}).sum(-1); }

  double scale() const { return scale_; }

private:
  /// Returns a bool mask [B, K], which is true where a query must not attend to a key.
  at::Tensor hidden(const at::Tensor& like) const {
    const auto options = like.options().dtype(at::kLong);
    const at::Tensor distance =
        at::arange(first_offset_, first_offset_ + queries_, options).unsqueeze(1) -
        at::arange(keys_, options);
    const at::Tensor later = distance < 0;
    return window_ == 0 ? later : later.logical_or(distance >= window_);
  }

  double scale_;
  std::int64_t window_;
  std::int64_t first_query_;  // index among the N tokens
  std::int64_t queries_;
  std::int64_t first_offset_ = 0;  // position of the first query minus that of the first key
  std::int64_t keys_ = 0;
  std::vector<Rows> key_rows_;  // rows of the keys; keys of the prefix, if any, come first
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
    block.add_to_keys(grads.v, at::bmm(p.transpose(1, 2), grad));
    at::Tensor grad_p = at::bmm(grad, block.of_keys(in.v).transpose(1, 2));
    const at::Tensor along = (grad_p * p).sum(-1, true);
    if (in.sinks.numel() > 0) grads.sinks.sub_(block.to_heads(of_sinks * along));
    const at::Tensor grad_scores = grad_p.sub_(along).mul_(p).mul_(block.scale());
    block.rows(grads.q).copy_(block.to_rows(at::bmm(grad_scores, block.of_keys(in.k))));
    block.add_to_keys(grads.k, at::bmm(grad_scores.transpose(1, 2), queries));
  });
  return grads;
}

}  // namespace mgpu::lm::grad
