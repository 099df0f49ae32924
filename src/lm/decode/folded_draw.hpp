#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "folded_logits.hpp"

// Shapes in this header: N rows, n rows of a piece, B its tokens.
namespace mgpu::lm {

/// One token of each row, drawn while pieces of the logits come; see kernels::StreamDrawArgs.
struct FoldedDraw {
  at::Tensor tops;    // [N] float64
  at::Tensor sums;    // [N] float64
  at::Tensor ids;     // [N] int64, -1: none yet
  at::Tensor picked;  // [N] float32: the drawn token's logit

  FoldedDraw(std::int64_t rows, const at::Device& device);

  /// Shapes: scores like piece.logits: what is drawn from; uniforms [n, 2] float64 on
  ///         the same device
  void fold(const LogitsPiece& piece, const at::Tensor& scores, const at::Tensor& uniforms);

  /// One of the draws that the ranks made, each from its part of the vocabulary.
  ///
  /// Shapes: uniforms [N] float64 on the CPU, in [0, 1)
  /// Ranks:  collective over the model's peers; the same result on all.
  void combine(const LanguageModel& model, const at::Tensor& uniforms);
};

}  // namespace mgpu::lm
