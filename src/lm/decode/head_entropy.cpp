#include "head_entropy.hpp"

#include <cstdint>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/tensor/device_stream.hpp>

#include "online_logits.hpp"

namespace mgpu::lm {
namespace {

constexpr double kNoTop = -1e300;  // less than any logit, and finite, so that 0 * kNoTop is 0

/// Returns the "sums" of N rows of logits, [N, 3] float64. Column 0 is the largest logit, column 1
/// the sum of exp(logit - largest), column 2 the sum of exp(logit - largest) * (logit - largest).
at::Tensor sums_of(const at::Tensor& logits) {
  const at::Tensor top = logits.amax(1);
  const at::Tensor below = logits - top.unsqueeze(1);
  const at::Tensor shares = below.exp();
  return at::stack({top, shares.sum(1), (shares * below).sum(1)}, 1);
}

/// Returns columns 1 and 2 of `sums`, [N] each, relative to `top` instead of the largest logit of
/// each row.
std::pair<at::Tensor, at::Tensor> moved(const at::Tensor& sums, const at::Tensor& top) {
  const at::Tensor step = sums.select(1, 0) - top;
  const at::Tensor factor = step.exp();
  return {sums.select(1, 1) * factor, (sums.select(1, 2) + sums.select(1, 1) * step) * factor};
}

/// Returns the sums over two parts of the vocabulary together. `a` and `b` are the sums over the
/// first and the second part.
at::Tensor joined(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor top = at::maximum(a.select(1, 0), b.select(1, 0));
  const auto [sum_a, product_a] = moved(a, top);
  const auto [sum_b, product_b] = moved(b, top);
  return at::stack({top, sum_a + sum_b, product_a + product_b}, 1);
}

at::Tensor no_sums(std::int64_t rows, const at::TensorOptions& options) {
  const at::Tensor sums = at::zeros({rows, 3}, options);
  sums.select(1, 0).fill_(kNoTop);
  return sums;
}

/// Returns the sums over this rank's part of the vocabulary.
at::Tensor own_sums(const LanguageModel& model, const at::Tensor& hidden) {
  const at::Tensor all = no_sums(hidden.size(0), hidden.options().dtype(at::kDouble));
  for_each_piece(model, hidden, [&](const LogitsPiece& piece) {
    // On the CPU, each row is summed in a separate call of libtorch, so that the bits of a sum do
    // not depend on the other rows.
    const std::int64_t count = piece.logits.size(0);
    const std::int64_t at_once = tensor::runs_on_gpu(piece.logits) ? count : 1;
    for (std::int64_t row = 0; row < count; row += at_once) {
      const at::Tensor place = all.narrow(0, piece.row + row, at_once);
      const at::Tensor logits = piece.logits.narrow(0, row, at_once).to(at::kDouble);
      place.copy_(joined(place, sums_of(logits)));
    }
  });
  return all;
}

/// Returns the sums over the whole vocabulary, [N, 3]. `mine` has the sums over this rank's part of
/// the vocabulary. The function combines the sums of the R ranks in the order of the ranks.
at::Tensor sums_of_ranks(ShardPeers& peers, const at::Tensor& mine) {
  const at::Tensor all = gather_bits(peers, mine.view(at::kInt)).view(at::kDouble);  // [R, N, 3]
  at::Tensor sums = all[0];
  for (std::int64_t rank = 1; rank < all.size(0); ++rank)
    sums = joined(sums, all[rank]);
  return sums;
}

}  // namespace

at::Tensor head_entropies(const LanguageModel& model, const at::Tensor& hidden) {
  const at::NoGradGuard no_grad;
  const Shard& shard = model.shard();
  const at::TensorOptions options = hidden.options().dtype(at::kDouble);
  at::Tensor entropies = at::zeros({hidden.size(0)}, options);
  if (hidden.size(0) == 0) return entropies;
  if (shard.has_head) {
    at::Tensor sums = own_sums(model, hidden);
    if (shard.is_tensor_parallel) sums = sums_of_ranks(*model.peers(), sums);
    entropies = sums.select(1, 1).log() - sums.select(1, 2) / sums.select(1, 1);
  }
  if (model.peers() != nullptr && !shard.is_tensor_parallel) model.peers()->all_reduce(entropies);
  return entropies;
}

}  // namespace mgpu::lm
