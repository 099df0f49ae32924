#include "offset_divergence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include <mgpu/tensor/device_stream.hpp>

namespace mgpu::lm {
namespace {

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

/// Adds up exp(logit - top) in `sum`. The logsumexp of these logits is top + log(sum).
struct LogSum {
  double top;
  double sum = 0.0;

  void add(double logit) { sum += std::exp(logit - top); }
};

/// Returns KL(p || q) of row n. p is the distribution with offsets, q the distribution without
/// offsets. A result that is negative because of rounding becomes 0; NaN is returned as NaN.
double divergence_of_row(const OffsetSums& sums, std::int64_t n) {
  const std::int64_t candidates = sums.candidates.size(1);
  const float* logits = sums.candidates.const_data_ptr<float>() + n * candidates;
  const double* offsets = sums.offsets.const_data_ptr<double>() + n * candidates;
  const double rest = sums.rest.tops.const_data_ptr<float>()[n] +
                      std::log(static_cast<double>(sums.rest.sums.const_data_ptr<float>()[n]));
  LogSum before{rest};
  LogSum after{rest};
  for (std::int64_t k = 0; k < candidates; ++k) {
    before.top = std::max<double>(before.top, logits[k]);
    after.top = std::max(after.top, logits[k] + offsets[k]);
  }
  before.add(rest);
  after.add(rest);
  double gap = 0.0;
  for (std::int64_t k = 0; k < candidates; ++k) {
    before.add(logits[k]);
    after.add(logits[k] + offsets[k]);
    const double weight = std::exp(logits[k] + offsets[k] - after.top);
    if (weight != 0.0) gap += weight * offsets[k];
  }
  const double value =
      gap / after.sum - (after.top - before.top) - std::log(after.sum / before.sum);
  return value < 0.0 ? 0.0 : value;
}

}  // namespace

OffsetSums::OffsetSums(const at::Tensor& scaled_offsets, const at::TensorOptions& options)
    : rest(scaled_offsets.size(0), 0, options),
      candidates(at::full(scaled_offsets.sizes(), kForbidden, options)),
      offsets(scaled_offsets) {}

at::Tensor divergence_of(const OffsetSums& sums) {
  return tensor::runs_on_gpu(sums.candidates) ? divergence_by_tensors(sums)
                                              : divergence_by_rows(sums);
}

at::Tensor divergence_by_rows(const OffsetSums& sums) {
  const std::int64_t rows = sums.candidates.size(0);
  at::Tensor result = at::empty({rows}, at::kDouble);
  for (std::int64_t n = 0; n < rows; ++n)
    result.mutable_data_ptr<double>()[n] = divergence_of_row(sums, n);
  return result;
}

at::Tensor divergence_by_tensors(const OffsetSums& sums) {
  const auto exact = [](const at::Tensor& column) { return column.to(at::kDouble); };
  const at::Tensor rest = (exact(sums.rest.tops) + exact(sums.rest.sums).log()).unsqueeze(1);
  const at::Tensor logits = exact(sums.candidates);                    // [N, K]
  const at::Tensor after = at::cat({logits + sums.offsets, rest}, 1);  // [N, K + 1]
  const at::Tensor weights = after.softmax(1).narrow(1, 0, logits.size(1));
  const at::Tensor gap = (weights * sums.offsets).masked_fill(weights == 0.0, 0.0).sum(1);
  const at::Tensor log_ratio = after.logsumexp({1}) - at::cat({logits, rest}, 1).logsumexp({1});
  return (gap - log_ratio).clamp_min(0.0);
}

OffsetDivergence::OffsetDivergence(const SampledRows& rows, const SamplingConfig& config)
    : rows_(rows), temperature_(config.temperature) {
  const at::Tensor& offsets = rows.offsets.values;
  if (offsets.defined())
    sums_.emplace(offsets.to(at::kDouble) / temperature_, rows.hidden.options());
}

void OffsetDivergence::fold(const LogitsPiece& raw) {
  if (!sums_) return;
  const CandidatePlaces places = places_in(rows_.offsets, raw);
  const at::Tensor scaled = raw.logits / temperature_;  // [rows, tokens] of the piece
  const at::Tensor candidates = sums_->candidates.narrow(0, raw.row, scaled.size(0));
  candidates.copy_(at::where(places.is_elsewhere, candidates, scaled.gather(1, places.columns)));
  // Sets the logits of the candidates to -infinity in `scaled`, so that `rest` does not include
  // them. Candidates outside the piece add -0 to column 0, which changes no bits of its logit.
  const at::Tensor none = at::full_like(candidates, kForbidden);
  scaled.scatter_add_(1, places.columns, none.masked_fill_(places.is_elsewhere, -0.0));
  sums_->rest.fold({scaled, raw.row, raw.first_id}, {});
}

at::Tensor OffsetDivergence::result() {
  if (!sums_) return {};
  combine_ranks();
  return divergence_of(*sums_);
}

/// Merges the sums of the R ranks that hold a part of the vocabulary. The logit of each candidate
/// is on one rank, and -infinity on the others.
void OffsetDivergence::combine_ranks() {
  const LanguageModel& model = rows_.model;
  if (!model.shard().is_tensor_parallel || rows_.hidden.size(0) == 0) return;
  OnlineLogits& rest = sums_->rest;
  const at::Tensor mine =
      at::cat({rest.tops.unsqueeze(1), rest.sums.unsqueeze(1), sums_->candidates}, 1);
  const at::Tensor all =
      gather_bits(*model.peers(), mine.view(at::kInt)).view(at::kFloat);  // [R, N, 2 + K]
  const TopsAndSums merged = merge_ranks({all.select(2, 0), all.select(2, 1)});
  rest.tops = merged.tops;
  rest.sums = merged.sums;
  sums_->candidates = all.narrow(2, 2, sums_->candidates.size(1)).amax(0);
}

}  // namespace mgpu::lm
