#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>

#include "folded_logits.hpp"

// Shapes in this header: N rows, D width, K candidates.
namespace mgpu::lm {

/// What is added to the logits of candidates; undefined without a candidate processor.
struct CandidateOffsets {
  at::Tensor ids;     // [N, K] int64
  at::Tensor values;  // [N, K] float32
};

/// Hidden states of a call, and what belongs to them.
struct SampledRows {
  const LanguageModel& model;
  const at::Tensor& hidden;         // [N, D]
  std::span<const DrawSite> sites;  // N
  const LogitProcessors& processors;
  CandidateOffsets offsets{};
};

/// Whether tokens are drawn from other logits than those of the model.
bool changes_logits(const SampledRows& rows, const SamplingConfig& config);

/// The piece itself, or a copy after the repetition penalty, block processors and offsets.
LogitsPiece changed(const LogitsPiece& piece, const SampledRows& rows,
                    const SamplingConfig& config);

/// Asks the candidate processor for the offsets of all rows; nothing without one.
///
/// Ranks:  those of the head
/// Errors: ShapeError when the offsets have another shape.
CandidateOffsets candidate_offsets(const SampledRows& rows, const SamplingConfig& config);

/// Some of the rows, with their part of everything.
SampledRows part_of(const SampledRows& rows, const at::Tensor& hidden,
                    std::span<const DrawSite> sites, const std::vector<std::int64_t>& index);

}  // namespace mgpu::lm
