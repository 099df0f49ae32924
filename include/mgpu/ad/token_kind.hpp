#pragma once

#include <cstdint>

namespace mgpu::ad {

/// Selects how a history becomes tokens.
enum class TokenKind : std::uint8_t {
  step,  // one token per step, which predicts the step's action; windows begin with an episode
  transition,  // one token per past transition, then one for the current state, which predicts its
               // action; windows may begin at any step
};

}  // namespace mgpu::ad
