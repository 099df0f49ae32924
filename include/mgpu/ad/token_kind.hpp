#pragma once

#include <cstdint>

namespace mgpu::ad {

/// Selects how a history becomes tokens.
enum class TokenKind : std::uint8_t {
  step,  // one token per step, which predicts the step's action; windows begin with an episode
  transition,  // one token per past transition, then the current state; windows slide
};

}  // namespace mgpu::ad
