#include "online_logits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/kernels/packed_product.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "lm/forward/row_ops.hpp"

namespace mgpu::lm {

static_assert(kVocabularyBlock % kernels::kMaxPanelWidth == 0);

void for_each_piece(const LanguageModel& model, const at::Tensor& hidden,
                    const std::function<void(const LogitsPiece&)>& visit) {
  const Range& vocab = model.shard().vocab;
  const PassSizes& sizes = model.sizes();
  for (std::int64_t row = 0; row < hidden.size(0); row += sizes.head_rows) {
    const at::Tensor x = hidden.narrow(0, row, std::min(sizes.head_rows, hidden.size(0) - row));
    for (std::int64_t first = 0; first < vocab.size(); first += sizes.vocabulary_block) {
      const std::int64_t count = std::min(sizes.vocabulary_block, vocab.size() - first);
      visit({project(x, part_of(model.weights().head, first, count)), row, vocab.begin + first});
    }
  }
}

OnlineLogits::OnlineLogits(std::int64_t rows, std::int64_t best, const at::TensorOptions& options)
    : tops(at::full({rows}, -std::numeric_limits<double>::infinity(), options)),
      sums(at::zeros({rows}, options)),
      picked(at::full({rows}, std::numeric_limits<double>::quiet_NaN(), options)),
      best_logits(at::full({rows, best}, -std::numeric_limits<double>::infinity(), options)),
      best_ids(at::full({rows, best}, -1, options.dtype(at::kLong))) {}

void OnlineLogits::fold(const LogitsPiece& piece, const at::Tensor& targets) {
  const auto place = static_cast<std::size_t>(piece.row);
  kernels::OnlineLogsumexpArgs args{};
  args.logits = piece.logits.const_data_ptr<float>();
  if (targets.defined()) args.targets = targets.const_data_ptr<std::int64_t>() + place;
  args.tops = tops.mutable_data_ptr<float>() + place;
  args.sums = sums.mutable_data_ptr<float>() + place;
  args.picked = picked.mutable_data_ptr<float>() + place;
  args.rows = static_cast<std::size_t>(piece.logits.size(0));
  args.block = static_cast<std::size_t>(piece.logits.size(1));
  args.best = static_cast<std::size_t>(best_ids.size(1));
  args.best_logits = best_logits.mutable_data_ptr<float>() + place * args.best;
  args.best_ids = best_ids.mutable_data_ptr<std::int64_t>() + place * args.best;
  args.first_id = piece.first_id;
  if (tensor::runs_on_gpu(piece.logits))
    kernels::cuda::online_logsumexp(args, tensor::current_stream(piece.logits));
  else
    kernels::cpu::online_logsumexp(args);
}

at::Tensor gather_bits(ShardPeers& peers, const at::Tensor& bits) {
  std::vector<std::int64_t> shape = bits.sizes().vec();
  shape.insert(shape.begin(), peers.size());
  const at::Tensor all = at::zeros(shape, bits.options());
  all.select(0, peers.rank()).copy_(bits);
  peers.all_reduce_if_all_can(all);  // sum of integers with zeros, so the bits are exact
  return all;
}

TopsAndSums merge_ranks(const TopsAndSums& of_ranks) {
  const at::Tensor tops = of_ranks.tops.amax(0);
  const at::Tensor shares =
      (of_ranks.tops - tops).exp().masked_fill_(of_ranks.tops == -INFINITY, 0.0);
  return {tops, (of_ranks.sums * shares).sum(0)};
}

void OnlineLogits::combine(const LanguageModel& model, const at::Tensor& targets) {
  const Shard& shard = model.shard();
  if (!shard.is_tensor_parallel || tops.size(0) == 0) return;
  if (targets.defined()) {
    const at::Tensor is_here =
        (targets >= shard.vocab.begin).logical_and(targets < shard.vocab.end);
    picked.masked_fill_(is_here.logical_not(), 0.0);
  }
  const std::int64_t best = best_ids.size(1);
  const auto bits = [](const at::Tensor& column) { return column.view(at::kInt).unsqueeze(1); };
  const at::Tensor all =
      gather_bits(*model.peers(), at::cat({bits(tops), bits(sums), bits(picked),
                                           best_logits.view(at::kInt), best_ids.to(at::kInt)},
                                          1));  // [R, N, 3 + 2 K]
  const auto floats = [&](std::int64_t first, std::int64_t count) {
    return all.narrow(2, first, count).contiguous().view(at::kFloat);
  };
  const TopsAndSums merged = merge_ranks({floats(0, 1).squeeze(2), floats(1, 1).squeeze(2)});
  tops = merged.tops;
  sums = merged.sums;
  picked = floats(2, 1).squeeze(2).sum(0);
  merge_best(floats(3, best), all.narrow(2, 3 + best, best).to(at::kLong));
}

/// Merges the best tokens of all ranks into best_logits and best_ids. Lower ranks have lower token
/// ids, so a stable sort by logit leaves tokens with equal logits in the order of their ids.
void OnlineLogits::merge_best(const at::Tensor& logits, const at::Tensor& ids) {
  const std::int64_t best = best_ids.size(1);
  if (best == 0) return;
  const auto in_rows = [](const at::Tensor& lists) { return lists.transpose(0, 1).flatten(1); };
  at::Tensor all_logits = in_rows(logits);  // [N, R K]
  at::Tensor all_ids = in_rows(ids);
  const auto reorder = [&](const at::Tensor& order) {
    all_logits = all_logits.gather(1, order);
    all_ids = all_ids.gather(1, order);
  };
  reorder(std::get<1>(all_logits.sort(/*stable=*/true, 1, /*descending=*/true)));
  // Entries without a token, whose id is -1, go last.
  reorder(std::get<1>((all_ids < 0).to(at::kInt).sort(/*stable=*/true, 1, false)));
  best_logits = all_logits.narrow(1, 0, best).contiguous();
  best_ids = all_ids.narrow(1, 0, best).contiguous();
}

at::Tensor OnlineLogits::log_sums() const {
  if (tensor::runs_on_gpu(sums)) return tops + sums.log();
  // On the CPU, take one log at a time, because a vectorized log may round the last few elements
  // differently.
  at::Tensor result = at::empty_like(sums);
  const float* top = tops.const_data_ptr<float>();
  const float* sum = sums.const_data_ptr<float>();
  float* out = result.mutable_data_ptr<float>();
  for (std::int64_t n = 0; n < result.numel(); ++n)
    out[n] = top[n] + std::log(sum[n]);
  return result;
}

}  // namespace mgpu::lm
