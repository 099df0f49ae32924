#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "online_logits.hpp"

// Shapes in this header: N = all rows, n = rows of a piece, B = tokens of a piece.
namespace mgpu::lm {

/// A streaming draw of one token per row from pieces of the logits; see kernels::OnlineDrawArgs.
struct OnlineDraw {
  at::Tensor tops;    // [N] float64
  at::Tensor sums;    // [N] float64
  at::Tensor ids;     // [N] int64, -1: not drawn yet
  at::Tensor picked;  // [N] float32: the drawn token's logit

  OnlineDraw(std::int64_t rows, const at::Device& device);

  /// Shapes: scores to draw from, with the shape of piece.logits; uniforms [n, 2] float64 on the
  ///         same device
  void fold(const LogitsPiece& piece, const at::Tensor& scores, const at::Tensor& uniforms);

  /// Selects, for each row, one of the ranks' draws. Each rank draws from its part of the
  /// vocabulary.
  ///
  /// Shapes: uniforms [N] float64 on the CPU, in [0, 1)
  /// Ranks:  collective over the model's peers; the same result on all.
  void combine(const LanguageModel& model, const at::Tensor& uniforms);
};

}  // namespace mgpu::lm
