#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/store/checkpoint/checkpoint_config.hpp>
#include <mgpu/train/optimizer_config.hpp>
#include <mgpu/train/train_config.hpp>

namespace mgpu::recipes {

/// What the keys say about the training loop, whatever is trained.
struct LoopSettings {
  train::TrainConfig train;
  train::OptimizerConfig optimizer;
  store::CheckpointConfig checkpoint;
  std::uint64_t seed = 0;
  std::vector<std::string>
      evaluation_values{};  // names of an evaluation's values; empty: there is no evaluation
  bool evaluates_last_step = false;  // false: where the job evaluates the trained model by itself

  /// Evaluations during the training.
  std::int64_t planned_evaluations() const;

  /// Whether one of them is due when so many steps are done.
  bool evaluates_after(std::int64_t steps_done) const;
};

/// Errors: Failures (exit 78) of all modules whose keys contradict each other, as one.
LoopSettings read_loop_settings(const Config& config);

}  // namespace mgpu::recipes
