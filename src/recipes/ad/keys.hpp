#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::recipes {

/// Values of the keys evaluate.*.
struct EvaluateConfig {
  int runs = 32;              // for each test task, in the final evaluation
  int episodes = 8;           // in each run
  bool with_controls = true;  // also run hide_rewards and clear_context, at the end
};

void add_evaluate_keys(KeyTable& table);

/// Adds the key train.label_smoothing.
void add_label_smoothing_key(KeyTable& table);

EvaluateConfig read_evaluate_config(const Config& config);

}  // namespace mgpu::recipes
