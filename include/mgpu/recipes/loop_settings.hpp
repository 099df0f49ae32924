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

/// Describes a number that a recipe reports for each step and each evaluation.
struct ReportedValue {
  std::string name;        // name of the column and of the result: "reward_margin"
  std::string scalar;      // TensorBoard tag after "train/" or "eval/": "rewards/margins"
  std::string text;        // description: "mean of chosen minus rejected reward"
  std::string unit{};      // "nats"; "" for none
  std::string chart{};     // title of the chart in report.html that shows the curve
  std::string held_out{};  // name of the held-out value in the result line; "": not shown
};

/// The settings that all recipes share: the keys run.*, the training loop, the optimizer and
/// checkpoints.
struct LoopSettings : run::JobKeys {
  train::TrainConfig train;
  train::OptimizerConfig optimizer;
  store::CheckpointConfig checkpoint;
  std::int64_t memory_every = 0;                 // log.memory_every, steps; 0: never
  std::vector<std::string> evaluation_values{};  // names of the numbers that an evaluation gives,
                                                 // such as "loss"; empty: none
  std::vector<ReportedValue> step_values{};      // further numbers of each step
  std::string accuracy_scalar = "mean_token_accuracy";  // name of the accuracy in TensorBoard
  bool splits_loss = false;          // true: the cross-entropy has a separate curve
  bool evaluates_last_step = false;  // true: the loop always evaluates after its last step

  /// Returns the number of evaluations that the training loop makes.
  std::int64_t planned_evaluations() const;

  /// Returns whether the training loop evaluates the model when `steps_done` steps are done.
  bool evaluates_after(std::int64_t steps_done) const;
};

/// Reads the keys that all recipes share. No key sets evaluation_values or the fields after it; the
/// recipe sets them.
/// Errors: one Failure (exit 78) with all contradictions between keys of the training loop, the
///         optimizer and checkpoints.
LoopSettings read_loop_settings(const Config& config);

}  // namespace mgpu::recipes
