#include "changed_logits.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>

namespace mgpu::lm {
namespace {

bool has_penalty(const SamplingConfig& config) {
  return config.repetition_penalty != 1.0;
}

}  // namespace

CandidatePlaces places_in(const CandidateOffsets& offsets, const LogitsPiece& piece) {
  const at::Tensor columns =
      offsets.ids.narrow(0, piece.row, piece.logits.size(0)) - piece.first_id;  // [n, K]
  const at::Tensor is_elsewhere = (columns < 0).logical_or(columns >= piece.logits.size(1));
  return {columns.masked_fill(is_elsewhere, 0), is_elsewhere};
}

void add_offsets(const CandidateOffsets& offsets, const LogitsPiece& piece) {
  const CandidatePlaces places = places_in(offsets, piece);
  const at::Tensor values = offsets.values.narrow(0, piece.row, piece.logits.size(0));
  // Candidates outside the piece add -0 to column 0, which changes no bits of its logit.
  piece.logits.scatter_add_(1, places.columns, values.masked_fill(places.is_elsewhere, -0.0));
}

bool changes_before_offsets(const SampledRows& rows, const SamplingConfig& config) {
  return has_penalty(config) || !rows.processors.blocks.empty();
}

bool changes_logits(const SampledRows& rows, const SamplingConfig& config) {
  return has_penalty(config) || !rows.processors.is_empty();
}

LogitsPiece changed(const LogitsPiece& piece, const SampledRows& rows,
                    const SamplingConfig& config) {
  if (!changes_logits(rows, config)) return piece;
  const at::Tensor logits = piece.logits.clone();
  if (has_penalty(config))
    penalize(rows.penalized, {logits, piece.row, piece.first_id}, config.repetition_penalty);
  const auto sites = rows.sites.subspan(static_cast<std::size_t>(piece.row),
                                        static_cast<std::size_t>(logits.size(0)));
  for (BlockProcessor* processor : rows.processors.blocks)
    processor->process(sites, piece.first_id, logits);
  const LogitsPiece result{logits, piece.row, piece.first_id};
  if (rows.offsets.values.defined()) add_offsets(rows.offsets, result);
  return result;
}

namespace {

/// Calls the candidate processor for the offsets of all rows. Returns undefined tensors if there is
/// no candidate processor.
CandidateOffsets candidate_offsets(const SampledRows& rows, const SamplingConfig& config) {
  CandidateProcessor* processor = rows.processors.candidate;
  if (processor == nullptr) return {};
  const std::int64_t best = std::min({processor->candidates(), rows.model.config().vocab,
                                      static_cast<std::int64_t>(kernels::kMaxBest)});
  OnlineLogits folded(rows.hidden.size(0), best, rows.hidden.options());
  for_each_piece(rows.model, rows.hidden,
                 [&](const LogitsPiece& raw) { folded.fold(changed(raw, rows, config), {}); });
  folded.combine(rows.model, {});
  // A row with logits that are not finite has fewer candidates. The missing candidates have id -1,
  // and the processor gets id 0 for each of them. Such rows are rejected later.
  const at::Tensor ids = folded.best_ids.clamp_min(0);
  const at::Tensor values = processor->offsets(rows.sites, ids, folded.best_logits);
  if (values.sizes() != ids.sizes() || values.scalar_type() != at::kFloat)
    throw ShapeError("CandidateProcessor: offsets that are not [N, K] float32");
  return {folded.best_ids, values, folded.best_logits};
}

}  // namespace

SampledRows rows_to_sample(const LanguageModel& model, const at::Tensor& hidden,
                           std::span<const DrawSite> sites, const LogitProcessors& processors,
                           const SamplingConfig& config) {
  if (static_cast<std::size_t>(hidden.size(0)) != sites.size())
    throw ShapeError("Sampler: not one site per hidden state");
  SampledRows rows{model, hidden, sites, processors};
  if (has_penalty(config))
    rows.penalized = penalized_ids(sites, model.config().vocab, hidden.device());
  rows.offsets = candidate_offsets(rows, config);
  return rows;
}

SampledRows part_of(const SampledRows& rows, const at::Tensor& hidden,
                    std::span<const DrawSite> sites, const std::vector<std::int64_t>& index) {
  SampledRows part{rows.model, hidden, sites, rows.processors};
  const bool is_penalized = rows.penalized.ids.defined();
  const bool has_offsets = rows.offsets.values.defined();
  if (!is_penalized && !has_offsets) return part;
  const at::Tensor places =
      at::tensor(index, at::TensorOptions().dtype(at::kLong)).to(rows.hidden.device());
  if (is_penalized)
    part.penalized = {rows.penalized.ids, rows.penalized.spans.index_select(0, places)};
  if (has_offsets)
    part.offsets = {rows.offsets.ids.index_select(0, places),
                    rows.offsets.values.index_select(0, places),
                    rows.offsets.logits.index_select(0, places)};
  return part;
}

}  // namespace mgpu::lm
