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
/// depends on the ids up to that token only. If several sequences begin with the same ids, one row
/// can therefore be the state of a token in each of these sequences.
struct PassRows {
  std::vector<grad::TokenRange> ranges;  // [S] rows of each sequence
  std::vector<std::int64_t> tokens;      // [M] index of the first token that has the row
  std::vector<std::int64_t> rows;        // [N] the row of each token

  bool are_shared() const { return tokens.size() < rows.size(); }
};

/// Returns the rows of a pass. If `shares` is true, each sequence is compared with the last earlier
/// sequence that uses no rows of other sequences. If the two sequences are in the same group, the
/// later sequence uses the rows of the earlier sequence for their common prefix. With
/// RopeKind::dynamic, rows are shared only if the two sequences also have the same rotation at each
/// position.
PassRows rows_of(const LmConfig& config, const LmBatch& batch, bool shares);

/// Returns the sequences of a pass with shared rows, on the device of `like`. Keys and values are
/// in pages of a few slots, as in a paged KV cache. The full pages of a shared prefix are in the
/// page list of each sequence that has the prefix. If the last page of the prefix is not full, each
/// sequence has a copy of the slots of this page.
///
/// Source: Kwon et al., SOSP 2023 (pages of a shared prompt).
grad::Sequences shared_sequences(const PassRows& rows, const at::Tensor& like);

/// Returns the positions of each sequence, except the positions of a prefix that uses the rows of
/// an earlier sequence. `spans` has the positions of all tokens of each sequence.
std::vector<RotatedSpan> own_spans(const PassRows& rows, std::vector<RotatedSpan> spans);

}  // namespace mgpu::lm
