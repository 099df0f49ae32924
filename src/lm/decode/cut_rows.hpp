#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "folded_logits.hpp"

// Shapes in this header: N rows, D width.
namespace mgpu::lm {

/// Hidden states of a call, and what belongs to them.
struct SampledRows {
  const LanguageModel& model;
  const at::Tensor& hidden;         // [N, D]
  std::span<const DrawSite> sites;  // N
};

/// A row after all cuts.
struct CutRow {
  std::vector<Candidate> candidates;
  std::vector<float> log_probs;  // of the candidates under the model; empty: not known yet
};

/// Penalty, temperature, top k and top p of all rows: first with the best few tokens of each row,
/// then with more for the rows that need them, in the end with all tokens of a row at a time.
/// Errors: Failure E704.
std::vector<CutRow> cut_rows(const SampledRows& rows, const SamplingConfig& config);

/// The piece itself, or a copy with the repetition penalty.
LogitsPiece with_penalty(const LogitsPiece& piece, const SampledRows& rows,
                         const SamplingConfig& config);

/// Errors: Failure E704 when one of log_sums [N], on the CPU, is not finite.
void check_sums(const SampledRows& rows, const at::Tensor& log_sums);

}  // namespace mgpu::lm
