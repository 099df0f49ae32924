#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::recipes {

/// The values of the keys evaluate.*.
struct EvaluateConfig {
  int runs = 32;              // number of rollouts of each test task in an evaluation
  int episodes = 8;           // number of episodes in each rollout
  bool with_controls = true;  // true: the final evaluation uses all Controls, not only `none`
};

void add_evaluate_keys(KeyTable& table);

/// Adds the key train.label_smoothing.
void add_label_smoothing_key(KeyTable& table);

EvaluateConfig read_evaluate_config(const Config& config);

}  // namespace mgpu::recipes
