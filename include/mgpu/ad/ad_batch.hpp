#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/ad/tokens.hpp>
#include <mgpu/base/buffer_view.hpp>

// Shapes in this header: B = rows, L = tokens of a window, F = features of a transition.
namespace mgpu::ad {

/// Holds the tokens of B windows (parts of learning histories) in host memory, and copies them to
/// the model's device. With TokenKind::step, a window has one token per step.
class StepBuffers {
public:
  StepBuffers(std::int64_t rows, std::int64_t tokens);

  StepBatch batch();

  /// Returns the first `tokens` tokens of each row, copied to `device`. Each field of the result is
  /// [B, tokens].
  StepTokens to_model(Device device, std::int64_t tokens) const;
  at::Tensor targets(Device device) const;  // [B, L] int64

private:
  at::Tensor fields_;  // [7, B, L] int32: the fields of StepTokens, then targets
};

/// Holds the tokens of B windows (parts of learning histories) in host memory. With
/// TokenKind::transition, a window has one token per past transition, and one for the current
/// state.
class TransitionBuffers {
public:
  TransitionBuffers(std::int64_t rows, std::int64_t tokens, std::int64_t features);

  TransitionBatch batch();
  TransitionTokens to_model(Device device) const;
  at::Tensor targets(Device device) const;                  // [B] int64
  const at::Tensor& features() const { return features_; }  // [B, L - 1, F] float32, host
  const at::Tensor& queries() const { return query_; }      // [B] int32, host

private:
  at::Tensor features_;
  at::Tensor length_;  // [B] int32
  at::Tensor query_;
  at::Tensor target_;
};

}  // namespace mgpu::ad
