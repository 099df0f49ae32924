#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/store/checkpoint/checkpoint_config.hpp>
#include <mgpu/train/optimizer_config.hpp>
#include <mgpu/train/train_config.hpp>

namespace mgpu::recipes {

/// Settings of the training loop, which all recipes share, together with the keys run.*.
struct LoopSettings : run::JobKeys {
  train::TrainConfig train;
  train::OptimizerConfig optimizer;
  store::CheckpointConfig checkpoint;
  std::int64_t memory_every = 0;  // log.memory_every, steps; 0: never
  std::vector<std::string>
      evaluation_values{};           // names of the values of an evaluation; empty: no evaluation
  bool evaluates_last_step = false;  // false: the recipe evaluates the trained model after the loop

  /// Returns the number of evaluations during the training.
  std::int64_t planned_evaluations() const;

  /// Returns whether an evaluation is due when `steps_done` steps are done.
  bool evaluates_after(std::int64_t steps_done) const;
};

/// Reads the keys. Errors: one Failure (exit 78) with all contradictions between keys, of all
/// modules.
LoopSettings read_loop_settings(const Config& config);

}  // namespace mgpu::recipes
