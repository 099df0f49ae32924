#pragma once

#include <cstdint>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

// Makes the weights and the batch of tests/oracle/ad_transformer.py by the same integer formulas.
namespace mgpu::ad {

inline constexpr std::int64_t kRows = 3;
inline constexpr std::int64_t kTokens = 12;

inline AdTransformerConfig formula_config(TokenKind tokens, AttentionKind attention) {
  AdTransformerConfig config;
  config.tokens = tokens;
  config.attention = attention;
  config.n_embd = 16;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_inner = 24;
  config.n_transit = kTokens;
  config.dropout = 0.0;
  config.grid = 4;
  return config;
}

inline void set_formula_weights(tensor::ParameterArena& arena) {
  const at::NoGradGuard no_grad;
  for (std::size_t k = 0; k < arena.size(); ++k) {
    const tensor::ParameterSpec& spec = arena.spec(k);
    const bool is_scale = spec.name.find("norm") != std::string::npos && spec.init_value == 1.0;
    const at::Tensor i = at::arange(arena.span(k).count, at::kLong);
    const at::Tensor value =
        ((i * 7919 + static_cast<std::int64_t>(k) * 104729).remainder(2001) - 1000)
            .to(at::kDouble) /
        4000.0;
    arena.parameter(k).copy_((value + (is_scale ? 1.0 : 0.0)).to(at::kFloat).view(spec.shape));
  }
}

inline at::Tensor numbers(std::int64_t size, std::int64_t salt,
                          const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape)
    count *= n;
  const at::Tensor i = at::arange(count, at::kLong);
  return (i * 31 + salt * 17 + i.floor_divide(7)).remainder(size).view(shape);
}

inline StepTokens formula_steps() {
  const auto field = [](std::int64_t size, std::int64_t salt) {
    return numbers(size, salt, {kRows, kTokens});
  };
  return {field(4, 0), field(4, 1), field(6, 2), field(3, 3), field(5, 4), field(5, 5)};
}

inline at::Tensor formula_step_targets() {
  at::Tensor targets = numbers(5, 9, {kRows, kTokens}).clone();
  targets[0].narrow(0, 0, 3).fill_(kernels::kIgnoreTarget);
  return targets;
}

inline TransitionTokens formula_transitions() {
  return {numbers(4, 1, {kRows, kTokens - 1, 10}).to(at::kFloat),
          numbers(16, 2, {kRows}),
          {kTokens - 1, 4, 0}};
}

inline at::Tensor formula_transition_targets() {
  return numbers(5, 3, {kRows});
}

}  // namespace mgpu::ad
