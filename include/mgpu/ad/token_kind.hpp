#pragma once

#include <cstdint>

namespace mgpu::ad {

/// How a history becomes tokens.
enum class TokenKind : std::uint8_t {
  step,        // a token per step, each predicts its action; windows begin with an episode
  transition,  // a token per past transition, then the state to act in; windows slide
};

}  // namespace mgpu::ad
