#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "online_logits.hpp"

// Shapes in this header: N = all rows, n = rows of a piece, B = tokens of a piece.
namespace mgpu::lm {

/// Draws one token per row from logits that arrive in pieces (LogitsPiece), in one pass over the
/// pieces; see kernels::OnlineDrawArgs.
struct OnlineDraw {
  at::Tensor tops;    // [N] float64: largest score
  at::Tensor sums;    // [N] float64: sum of exp(score - top)
  at::Tensor ids;     // [N] int64, -1: not drawn yet
  at::Tensor picked;  // [N] float32: the drawn token's logit

  OnlineDraw(std::int64_t rows, const at::Device& device);

  /// Updates the draw with one piece of the logits. The probabilities are softmax(scores), where
  /// `scores` are the logits after penalty, processors and temperature. `picked` comes from the
  /// logits of `piece`.
  /// Shapes: scores as piece.logits; uniforms [n, 2] float64 on the same device
  void fold(const LogitsPiece& piece, const at::Tensor& scores, const at::Tensor& uniforms);

  /// If the vocabulary is split over ranks, each rank has drawn from its part only. In this case,
  /// call this function after the last piece. For each row, the function selects the draw of one
  /// rank.
  ///
  /// Shapes: uniforms [N] float64 on the CPU, in [0, 1)
  /// Ranks:  collective over the model's peers; every rank gets the same tokens.
  void combine(const LanguageModel& model, const at::Tensor& uniforms);
};

}  // namespace mgpu::lm
