#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "online_logits.hpp"

// Shapes in this header: N rows, I = number of ids of all rows.
namespace mgpu::lm {

/// The distinct token ids in the context (DrawSite::context) of each row of a draw, for the
/// repetition penalty. A draw samples one token per row.
struct PenalizedIds {
  at::Tensor ids;    // [I] int64, ascending within a row; undefined: no penalty
  at::Tensor spans;  // [N, 2] int64: row n has the ids at spans[n][0] .. spans[n][1] - 1
};

/// Returns the ids of the contexts of all sites, without unknown ids (-1) and without ids outside
/// the vocabulary. All ids are sent to the device in one transfer.
PenalizedIds penalized_ids(std::span<const DrawSite> sites, std::int64_t vocab,
                           const at::Device& device);

/// Applies the repetition penalty to the logits of a piece, in place. The function copies no values
/// from the device to the host.
void penalize(const PenalizedIds& penalized, const LogitsPiece& piece, double penalty);

}  // namespace mgpu::lm
