#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>

#include "online_logits.hpp"

// Shapes in this header: N rows, D width, K candidates.
namespace mgpu::lm {

/// Offsets that the candidate processor adds to the logits of the candidates; undefined without
/// such a processor.
struct CandidateOffsets {
  at::Tensor ids;     // [N, K] int64
  at::Tensor values;  // [N, K] float32
};

/// The hidden states of a call with their sites, model and processors.
struct SampledRows {
  const LanguageModel& model;
  const at::Tensor& hidden;         // [N, D]
  std::span<const DrawSite> sites;  // N
  const LogitProcessors& processors;
  CandidateOffsets offsets{};
};

/// Returns whether tokens are drawn from logits that differ from the model's.
bool changes_logits(const SampledRows& rows, const SamplingConfig& config);

/// Returns the piece itself if nothing changes its logits, else a copy after repetition penalty,
/// block processors and offsets.
LogitsPiece changed(const LogitsPiece& piece, const SampledRows& rows,
                    const SamplingConfig& config);

/// Returns the offsets of the candidate processor for all rows, if there is such a processor.
///
/// Ranks:  those that have the head
/// Errors: ShapeError when the offsets have another shape.
CandidateOffsets candidate_offsets(const SampledRows& rows, const SamplingConfig& config);

/// Returns the rows with the numbers `index`, with their offsets. `hidden` and `sites` have these
/// rows only.
SampledRows part_of(const SampledRows& rows, const at::Tensor& hidden,
                    std::span<const DrawSite> sites, const std::vector<std::int64_t>& index);

}  // namespace mgpu::lm
