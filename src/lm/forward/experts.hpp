#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// Tokens of one expert, ascending, and its share in each of them.
struct ExpertLoad {
  std::vector<std::int64_t> rows;
  std::vector<float> shares;
};

/// What goes to each expert. The shares are a softmax over the best `used` router logits of a
/// token.
///
/// Shapes: logits [N, E]
std::vector<ExpertLoad> route(const LmConfig& config, const at::Tensor& logits);

/// The shares that the experts of a token have in its output: a softmax over the best `used`
/// router logits, equal ones by ascending expert. The experts of a token are added in ascending
/// order, so its bits depend on its own row only.
///
/// Shapes: x [N, D]; returns [N, D]
/// Source: transformers 5.23, modeling_gpt_oss.py.
at::Tensor mix_experts(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x);

}  // namespace mgpu::lm
