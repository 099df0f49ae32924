#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// The tokens that use one expert (`rows`, ascending), and one weight per token (`shares`). The
/// output of a token includes the expert's output, multiplied by the token's weight.
struct ExpertLoad {
  std::vector<std::int64_t> rows;
  std::vector<float> shares;  // one weight per token
};

/// Assigns tokens to experts. A token uses the ExpertConfig::used experts with the largest router
/// logits. The shares of these experts are the softmax of their router logits.
///
/// Shapes: logits [N, E] for N tokens and E experts; returns one ExpertLoad per expert
std::vector<ExpertLoad> route(const LmConfig& config, const at::Tensor& logits);

/// Applies the mixture of experts to each token. A token uses the ExpertConfig::used experts with
/// the largest router logits. If logits are equal, lower expert indices are preferred. The outputs
/// of the used experts are weighted by the softmax of their router logits, and added in the order
/// of the expert indices. Because of this fixed order, on the CPU the bits of a row depend on that
/// row only.
///
/// Shapes: x [N, D] for N tokens of width D; returns [N, D]
/// Source: transformers 5.23, modeling_gpt_oss.py.
at::Tensor mix_experts(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x);

}  // namespace mgpu::lm
