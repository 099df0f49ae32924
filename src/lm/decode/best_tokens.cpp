#include "best_tokens.hpp"

#include <ATen/ATen.h>

#include "offset_divergence.hpp"

namespace mgpu::lm {
namespace {

/// Returns the logits of the tokens in `best` without the offsets that some of these tokens got.
at::Tensor without_offsets(const CandidateOffsets& offsets, const OnlineLogits& best) {
  if (!offsets.values.defined()) return best.best_logits;
  const auto [ids, order] = offsets.ids.sort(1);  // [N, candidates]
  const at::Tensor places = at::searchsorted(ids, best.best_ids).clamp_max(ids.size(1) - 1);
  const at::Tensor is_candidate = ids.gather(1, places) == best.best_ids;
  return at::where(is_candidate, offsets.logits.gather(1, order.gather(1, places)),
                   best.best_logits);
}

/// Finds the `best` most probable tokens of each row. The function fold() adds each piece of the
/// logits to the members that are needed. The other members stay empty. Changed logits are those
/// after repetition penalty, processors and offsets.
struct BestSearch {
  OnlineLogits folded;          // sums over the changed logits, and the best tokens
  OnlineLogits tempered;        // sums over the changed logits, divided by the temperature
  OnlineLogits unchanged;       // sums over the model's logits, if only offsets change them
  OffsetDivergence divergence;  // KL(distribution with offsets || without)

  BestSearch(const SampledRows& rows, const SamplingConfig& config, std::int64_t best)
      : folded(rows.hidden.size(0), best, rows.hidden.options()),
        tempered(needs_total(config) ? rows.hidden.size(0) : 0, 0, rows.hidden.options()),
        unchanged(has_only_offsets(rows, config) ? rows.hidden.size(0) : 0, 0,
                  rows.hidden.options()),
        divergence(rows, config) {}

  static bool has_only_offsets(const SampledRows& rows, const SamplingConfig& config) {
    return rows.offsets.values.defined() && !changes_before_offsets(rows, config);
  }

  void fold(const LogitsPiece& raw, const SampledRows& rows, const SamplingConfig& config) {
    const LogitsPiece piece = changed(raw, rows, config);
    folded.fold(piece, {});
    if (needs_total(config))
      tempered.fold({piece.logits / config.temperature, piece.row, piece.first_id}, {});
    if (has_only_offsets(rows, config)) unchanged.fold(raw, {});
    divergence.fold(raw);
  }

  /// Merges the sums of all ranks, and returns the results for the whole vocabulary on the device.
  ///
  /// Ranks: collective over the ranks of a tensor-parallel model
  BestTokens results(const SampledRows& rows, const SamplingConfig& config) {
    for (OnlineLogits* sums : {&folded, &tempered, &unchanged})
      sums->combine(rows.model, {});
    BestTokens sums{folded.log_sums(),  tempered.log_sums(),          folded.best_ids,
                    folded.best_logits, tempered.sums.new_empty({0}), divergence.result()};
    if (!changes_before_offsets(rows, config)) {
      const at::Tensor log_sums =
          rows.offsets.values.defined() ? unchanged.log_sums() : sums.log_sums;
      sums.log_probs = without_offsets(rows.offsets, folded) - log_sums.unsqueeze(1);
    }
    if (!sums.divergences.defined()) sums.divergences = tempered.sums.new_empty({0});
    return sums;
  }
};

}  // namespace

bool needs_total(const SamplingConfig& config) {
  return config.top_p < 1.0 && config.top_k == 0;
}

BestTokens best_tokens(const SampledRows& rows, const SamplingConfig& config, std::int64_t best) {
  BestSearch search(rows, config, best);
  for_each_piece(rows.model, rows.hidden,
                 [&](const LogitsPiece& raw) { search.fold(raw, rows, config); });
  return search.results(rows, config);
}

}  // namespace mgpu::lm
