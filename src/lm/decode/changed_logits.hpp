#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>

#include "online_logits.hpp"
#include "penalized_ids.hpp"

// Shapes in this header: N rows, D width, K candidates.
namespace mgpu::lm {

/// The places of the candidates of some rows within one piece of the logits.
struct CandidatePlaces {
  at::Tensor columns;       // [n, K] int64; 0 for a candidate that is not in the piece
  at::Tensor is_elsewhere;  // [n, K] bool: the candidate is not in the piece
};

/// Returns the columns of `piece` that hold the candidates of its rows.
CandidatePlaces places_in(const CandidateOffsets& offsets, const LogitsPiece& piece);

/// Adds the offsets of those candidates that are in the piece to their logits, in place. All other
/// logits keep their bits.
void add_offsets(const CandidateOffsets& offsets, const LogitsPiece& piece);

/// The hidden states from which tokens are drawn, one row per draw. The site of a row says for
/// which sample and position the token is drawn.
struct SampledRows {
  const LanguageModel& model;
  const at::Tensor& hidden;         // [N, D]
  std::span<const DrawSite> sites;  // N
  const LogitProcessors& processors;
  PenalizedIds penalized{};
  CandidateOffsets offsets{};
};

/// Returns the rows together with what a draw needs: the ids for the repetition penalty and the
/// offsets of the candidate processor. The arguments must outlive the result.
///
/// Ranks:  those that have the head
/// Errors: ShapeError when there is not one site per row, or the offsets have another shape than
///         the candidates.
SampledRows rows_to_sample(const LanguageModel& model, const at::Tensor& hidden,
                           std::span<const DrawSite> sites, const LogitProcessors& processors,
                           const SamplingConfig& config);

/// Returns whether the repetition penalty or block processors change the logits of the model.
bool changes_before_offsets(const SampledRows& rows, const SamplingConfig& config);

/// Returns whether penalty, processors or offsets change the logits of the model before the draw.
bool changes_logits(const SampledRows& rows, const SamplingConfig& config);

/// Returns `piece` itself if its logits do not change, else a copy after repetition penalty, block
/// processors and offsets.
LogitsPiece changed(const LogitsPiece& piece, const SampledRows& rows,
                    const SamplingConfig& config);

/// Returns those of the `rows` whose indices are in `index`. The caller has selected `hidden` and
/// `sites` for these indices, and the function selects the ids and offsets.
SampledRows part_of(const SampledRows& rows, const at::Tensor& hidden,
                    std::span<const DrawSite> sites, const std::vector<std::int64_t>& index);

}  // namespace mgpu::lm
