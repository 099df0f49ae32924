#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/training/lm_batch.hpp>

#include "grad_ops.hpp"
#include "lm/forward/rope.hpp"

// Shapes in this header: N = tokens of a batch, M = rows of a pass, S = sequences.
namespace mgpu::lm {

/// The rows that a pass computes for the tokens of a batch. A row is the state of a token, which
/// depends on the ids up to that token only. So if sequences begin with the same ids, a row can
/// stand for one token of each of them.
struct PassRows {
  std::vector<grad::TokenRange> ranges;  // [S] rows of each sequence
  std::vector<std::int64_t> tokens;      // [M] a token of each row
  std::vector<std::int64_t> rows;        // [N] the row of each token

  bool are_shared() const { return tokens.size() < rows.size(); }
};

/// Returns the rows of a pass. With `shares`, each sequence is compared with the last earlier one
/// that has no prefix. If both have the same group, it uses the rows of that sequence for the ids
/// with which both begin. With RopeKind::dynamic, sequences share only if they are rotated alike.
PassRows rows_of(const LmConfig& config, const LmBatch& batch, bool shares);

/// Returns the sequences of a pass with shared rows, on the device of `like`. Their keys are in
/// pages of a few slots. A page of a shared prefix is in the page list of each sequence that has
/// the prefix. If its last page is not full, each sequence has a copy.
///
/// Source: Kwon et al., SOSP 2023 (pages of a shared prompt).
grad::Sequences shared_sequences(const PassRows& rows, const at::Tensor& like);

/// Returns the positions of the rows that each sequence has for itself, without a shared prefix.
/// `spans` has the positions of all tokens of each sequence.
std::vector<RotatedSpan> own_spans(const PassRows& rows, std::vector<RotatedSpan> spans);

}  // namespace mgpu::lm
