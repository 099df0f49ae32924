#pragma once

#include <mgpu/config/config.hpp>

namespace mgpu::recipes {

/// The keys evaluate.*.
struct EvaluateConfig {
  int runs = 32;              // of each test task, in the final evaluation
  int episodes = 8;           // of each run
  bool with_controls = true;  // also hide_rewards and clear_context, at the end
};

void add_evaluate_keys(KeyTable& table);

/// The key train.label_smoothing.
void add_label_smoothing_key(KeyTable& table);

EvaluateConfig read_evaluate_config(const Config& config);

}  // namespace mgpu::recipes
