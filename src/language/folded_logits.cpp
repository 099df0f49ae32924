#include "folded_logits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include <mgpu/kernels/fold_logits.hpp>
#include <mgpu/model/device_stream.hpp>

#include "row_ops.hpp"

namespace mgpu::language {
namespace {

constexpr std::int64_t kTokenBlock = 256;

}  // namespace

void for_each_piece(const LanguageModel& model, const at::Tensor& hidden,
                    const std::function<void(const LogitsPiece&)>& visit) {
  const Range& vocab = model.shard().vocab;
  for (std::int64_t row = 0; row < hidden.size(0); row += kTokenBlock) {
    const at::Tensor x = hidden.narrow(0, row, std::min(kTokenBlock, hidden.size(0) - row));
    for (std::int64_t first = 0; first < vocab.size(); first += kVocabularyBlock) {
      const std::int64_t count = std::min(kVocabularyBlock, vocab.size() - first);
      visit({project(x, part_of(model.weights().head, first, count)), row, vocab.begin + first});
    }
  }
}

FoldedLogits::FoldedLogits(std::int64_t rows, std::int64_t best, const at::TensorOptions& options)
    : tops(at::full({rows}, -std::numeric_limits<double>::infinity(), options)),
      sums(at::zeros({rows}, options)),
      picked(at::full({rows}, std::numeric_limits<double>::quiet_NaN(), options)),
      best_logits(at::full({rows, best}, -std::numeric_limits<double>::infinity(), options)),
      best_ids(at::full({rows, best}, -1, options.dtype(at::kLong))) {}

void FoldedLogits::fold(const LogitsPiece& piece, const at::Tensor& targets) {
  const auto place = static_cast<std::size_t>(piece.row);
  kernels::FoldLogitsArgs args{};
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
  if (piece.logits.is_cuda())
    kernels::cuda::fold_logits(args, model::current_stream(piece.logits));
  else
    kernels::cpu::fold_logits(args);
}

at::Tensor FoldedLogits::log_sums() const {
  if (!sums.is_cpu()) return tops + sums.log();
  // One by one on the CPU: a vectorized log may round the last few otherwise.
  at::Tensor result = at::empty_like(sums);
  const float* top = tops.const_data_ptr<float>();
  const float* sum = sums.const_data_ptr<float>();
  float* out = result.mutable_data_ptr<float>();
  for (std::int64_t n = 0; n < result.numel(); ++n)
    out[n] = top[n] + std::log(sum[n]);
  return result;
}

}  // namespace mgpu::language
