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
  std::string name;        // name in results.h5 and summary.json: "reward_margin"
  std::string scalar;      // TensorBoard tag after "train/" or "eval/": "rewards/margins"
  std::string text;        // description: "mean of chosen minus rejected reward"
  std::string unit{};      // "nats"; "" for none
  std::string chart{};     // title of the chart in report.html that shows the curve
  std::string held_out{};  // label of the value on held-out rows in the result line; "": not shown
  bool on_screen = false;  // true: the line of each step shows the value
};

/// The settings that all recipes share: the keys run.*, the training loop, the optimizer and
/// checkpoints.
struct LoopSettings : run::JobKeys {
  train::TrainConfig train;
  train::OptimizerConfig optimizer;
  store::CheckpointConfig checkpoint;
  std::int64_t memory_every = 0;  // steps between reports of memory (log.memory_every); 0: never
  std::vector<std::string> evaluation_values{};  // names of the numbers that an evaluation returns,
                                                 // such as "loss"; empty: no evaluations
  std::vector<ReportedValue> step_values{};  // numbers of each step that are not in train::StepRow
  std::string accuracy_scalar = "mean_token_accuracy";  // TensorBoard tag after "train/"
  bool splits_loss = false;          // true: StepRow::cross_entropy has a separate curve
  bool evaluates_last_step = false;  // true: the loop always evaluates after its last step

  /// Returns the number of evaluations that the training loop makes in a complete training.
  std::int64_t planned_evaluations() const;

  /// Returns whether the training loop evaluates the model when `steps_done` steps are done.
  bool evaluates_after(std::int64_t steps_done) const;
};

/// Reads the keys that all recipes share. LoopSettings::evaluation_values and the fields after it
/// keep their defaults. Recipes set these fields afterwards.
///
/// Errors: one Failure (exit 78) about keys of the training loop, the optimizer and checkpoints
///         that contradict each other.
LoopSettings read_loop_settings(const Config& config);

}  // namespace mgpu::recipes
