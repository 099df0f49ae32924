#pragma once

#include <cstdint>

namespace mgpu::ad {

/// Selects how a history becomes tokens.
enum class TokenKind : std::uint8_t {
  /// One token per step, which predicts the action of the step. A window begins where an episode
  /// begins.
  step,
  /// One token per past transition, then one for the current state, which predicts the next action.
  /// A window may begin at any step.
  transition,
};

}  // namespace mgpu::ad
