#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// The tokens that use one expert, ascending, and the expert's share in each.
struct ExpertLoad {
  std::vector<std::int64_t> rows;
  std::vector<float> shares;
};

/// Assigns tokens to experts. The shares are a softmax over the best `used` router logits of a
/// token.
///
/// Shapes: logits [N, E]
std::vector<ExpertLoad> route(const LmConfig& config, const at::Tensor& logits);

/// Applies the mixture of experts. The shares are a softmax over the best `used` router logits,
/// ties by ascending expert. The outputs of a token's experts are added in ascending order, so the
/// bits of a row depend on that row only.
///
/// Shapes: x [N, D]; returns [N, D]
/// Source: transformers 5.23, modeling_gpt_oss.py.
at::Tensor mix_experts(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x);

}  // namespace mgpu::lm
