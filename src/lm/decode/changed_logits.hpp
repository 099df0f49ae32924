#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>

#include "online_logits.hpp"
#include "penalized_ids.hpp"

// Shapes in this header: N rows of a draw, n rows of a LogitsPiece, D width, K candidates.
namespace mgpu::lm {

/// The columns of the candidates in a LogitsPiece. A candidate is a token to whose logit a
/// CandidateProcessor adds an offset.
struct CandidatePlaces {
  at::Tensor columns;       // [n, K] int64; 0 for a candidate that is not in the piece
  at::Tensor is_elsewhere;  // [n, K] bool: the candidate is not in the piece
};

/// Returns the columns of the candidates in `offsets` for the rows of `piece`.
CandidatePlaces places_in(const CandidateOffsets& offsets, const LogitsPiece& piece);

/// Adds the offset of each candidate to the candidate's logit, in place, if this logit is in the
/// piece. All other logits keep their bits.
void add_offsets(const CandidateOffsets& offsets, const LogitsPiece& piece);

/// The hidden states from which tokens are drawn, one row per token, and the data that change the
/// logits of these rows. The site of a row contains the sample and the position of the token to
/// draw.
struct SampledRows {
  const LanguageModel& model;
  const at::Tensor& hidden;         // [N, D]
  std::span<const DrawSite> sites;  // [N]
  const LogitProcessors& processors;
  PenalizedIds penalized{};
  CandidateOffsets offsets{};
};

/// Returns the rows of a draw. If `config` has a repetition penalty, SampledRows::penalized
/// contains the ids to penalize. If there is a candidate processor, SampledRows::offsets contains
/// its offsets. The tensors of a member that is not needed are undefined. The arguments must
/// outlive the result.
///
/// Ranks:  collective over the ranks that have the head
/// Errors: ShapeError when the numbers of sites and rows differ, or when the candidate processor
///         returns offsets that are not [N, K] float32.
SampledRows rows_to_sample(const LanguageModel& model, const at::Tensor& hidden,
                           std::span<const DrawSite> sites, const LogitProcessors& processors,
                           const SamplingConfig& config);

/// Returns whether the repetition penalty or block processors change the logits of the model.
bool changes_before_offsets(const SampledRows& rows, const SamplingConfig& config);

/// Returns whether repetition penalty, block processors or candidate offsets change the logits of
/// the model before the draw.
bool changes_logits(const SampledRows& rows, const SamplingConfig& config);

/// Returns a copy of `piece` after repetition penalty, block processors and candidate offsets;
/// `piece` itself if changes_logits() is false.
LogitsPiece changed(const LogitsPiece& piece, const SampledRows& rows,
                    const SamplingConfig& config);

/// Returns the rows whose indices are in `index`. `hidden` and `sites` must already contain only
/// the selected rows. The function selects the rows of `penalized` and `offsets`.
SampledRows part_of(const SampledRows& rows, const at::Tensor& hidden,
                    std::span<const DrawSite> sites, const std::vector<std::int64_t>& index);

}  // namespace mgpu::lm
