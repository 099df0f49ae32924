#pragma once

#include <cstdint>

namespace mgpu::ad {

/// Selects how a learning history becomes tokens. A window is the part of a history that the model
/// sees at a time.
enum class TokenKind : std::uint8_t {
  /// One token per step. The model predicts the step's action at this token. A window begins where
  /// an episode begins.
  step,
  /// One token per past transition, then one for the current state. The model predicts the next
  /// action at this last token. A window may begin at any step.
  transition,
};

}  // namespace mgpu::ad
