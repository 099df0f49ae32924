#pragma once

#include <ATen/ATen.h>

#include <mgpu/lm/forward/language_model.hpp>

namespace mgpu::lm {

/// Returns a model that consists of a head only.
inline LanguageModel headed_model(const at::Tensor& head) {
  LmConfig config;
  config.vocab = head.size(0);
  config.hidden_size = head.size(1);
  LmWeights weights;
  weights.head.weight = head;
  return {config, weights};
}

/// Returns a model whose logits are its hidden states.
inline LanguageModel identity_model(std::int64_t vocab) {
  return headed_model(at::eye(vocab));
}

}  // namespace mgpu::lm
