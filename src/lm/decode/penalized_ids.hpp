#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "online_logits.hpp"

// Shapes in this header: N rows, I = number of ids of all rows.
namespace mgpu::lm {

/// Lists the distinct token ids in the context of each row, for the repetition penalty. A draw
/// samples one token for every row.
struct PenalizedIds {
  at::Tensor ids;    // [I] int64, ascending within a row; undefined: no penalty
  at::Tensor spans;  // [N, 2] int64: row n has the ids at spans[n][0] .. spans[n][1] - 1
};

/// Returns the ids of all contexts of a draw. They are sent to the device together.
PenalizedIds penalized_ids(std::span<const DrawSite> sites, std::int64_t vocab,
                           const at::Device& device);

/// Applies the repetition penalty to the logits of a piece, in place. Nothing is read back to the
/// host.
void penalize(const PenalizedIds& penalized, const LogitsPiece& piece, double penalty);

}  // namespace mgpu::lm
