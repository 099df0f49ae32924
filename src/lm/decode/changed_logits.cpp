#include "changed_logits.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "top_k_top_p.hpp"

namespace mgpu::lm {
namespace {

bool has_penalty(const SamplingConfig& config) {
  return config.repetition_penalty != 1.0;
}

/// Applies the repetition penalty to a row of a piece, once per distinct token of the context.
void penalize(float* logits, std::int64_t count, std::int64_t first_id, const DrawSite& site,
              double penalty) {
  const std::set<std::int64_t> tokens(site.context.begin(), site.context.end());
  for (const std::int64_t id : tokens)
    if (id >= first_id && id < first_id + count)
      logits[id - first_id] = penalized(logits[id - first_id], penalty);
}

/// Returns a copy of the piece's logits with the repetition penalty.
at::Tensor with_penalty(const LogitsPiece& piece, const SampledRows& rows, double penalty) {
  const at::Tensor copy = tensor::read_back(piece.logits).clone();
  const std::int64_t count = copy.size(1);
  for (std::int64_t n = 0; n < copy.size(0); ++n) {
    const DrawSite& site = rows.sites[static_cast<std::size_t>(piece.row + n)];
    penalize(copy.mutable_data_ptr<float>() + n * count, count, piece.first_id, site, penalty);
  }
  return copy.to(piece.logits.device());
}

/// Adds the offsets of the candidates that are in the piece. Other tokens get an offset of -0,
/// which changes no bits of any number.
void add_offsets(const CandidateOffsets& offsets, const LogitsPiece& piece,
                 const at::Tensor& logits) {
  const std::int64_t rows = logits.size(0);
  const at::Tensor places = offsets.ids.narrow(0, piece.row, rows) - piece.first_id;  // [n, K]
  const at::Tensor is_elsewhere = (places < 0).logical_or(places >= logits.size(1));
  logits.scatter_add_(1, places.masked_fill(is_elsewhere, 0),
                      offsets.values.narrow(0, piece.row, rows).masked_fill(is_elsewhere, -0.0));
}

}  // namespace

bool changes_logits(const SampledRows& rows, const SamplingConfig& config) {
  return has_penalty(config) || !rows.processors.is_empty();
}

LogitsPiece changed(const LogitsPiece& piece, const SampledRows& rows,
                    const SamplingConfig& config) {
  if (!changes_logits(rows, config)) return piece;
  const at::Tensor logits = has_penalty(config)
                                ? with_penalty(piece, rows, config.repetition_penalty)
                                : piece.logits.clone();
  const auto sites = rows.sites.subspan(static_cast<std::size_t>(piece.row),
                                        static_cast<std::size_t>(logits.size(0)));
  for (BlockProcessor* processor : rows.processors.blocks)
    processor->process(sites, piece.first_id, logits);
  if (rows.offsets.values.defined()) add_offsets(rows.offsets, piece, logits);
  return {logits, piece.row, piece.first_id};
}

CandidateOffsets candidate_offsets(const SampledRows& rows, const SamplingConfig& config) {
  CandidateProcessor* processor = rows.processors.candidate;
  if (processor == nullptr) return {};
  const std::int64_t best = std::min({processor->candidates(), rows.model.config().vocab,
                                      static_cast<std::int64_t>(kernels::kMaxBest)});
  OnlineLogits folded(rows.hidden.size(0), best, rows.hidden.options());
  for_each_piece(rows.model, rows.hidden,
                 [&](const LogitsPiece& raw) { folded.fold(changed(raw, rows, config), {}); });
  folded.combine(rows.model, {});
  // Rows with logits that are not finite have fewer candidates. Such rows are rejected later.
  const at::Tensor ids = folded.best_ids.clamp_min(0);
  const at::Tensor values = processor->offsets(rows.sites, ids, folded.best_logits);
  if (values.sizes() != ids.sizes() || values.scalar_type() != at::kFloat)
    throw ShapeError("CandidateProcessor: offsets that are not [N, K] float32");
  return {folded.best_ids, values};
}

SampledRows part_of(const SampledRows& rows, const at::Tensor& hidden,
                    std::span<const DrawSite> sites, const std::vector<std::int64_t>& index) {
  SampledRows part{rows.model, hidden, sites, rows.processors};
  if (!rows.offsets.values.defined()) return part;
  const at::Tensor places =
      at::tensor(index, at::TensorOptions().dtype(at::kLong)).to(rows.hidden.device());
  part.offsets = {rows.offsets.ids.index_select(0, places),
                  rows.offsets.values.index_select(0, places)};
  return part;
}

}  // namespace mgpu::lm
