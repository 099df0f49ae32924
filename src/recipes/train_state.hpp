#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/checkpoint/checkpoint_store.hpp>
#include <mgpu/train/adamw.hpp>
#include <mgpu/train/loss_scaler.hpp>
#include <mgpu/train/train_loop.hpp>

namespace mgpu::recipes {

/// Stores the metrics of each step and the values of each evaluation so far. Steps and evaluations
/// are counted from 0. The curves are saved with each checkpoint, so a resumed run has the same
/// curves as an uninterrupted run.
class TrainCurves {
public:
  /// Allocates room for `max_steps` steps and `max_evaluations` evaluations. `value_names` are
  /// the names of the values that each evaluation returns. With `has_cross_entropy`,
  /// StepRow::cross_entropy is also stored. `step_values` describes numbers of each step that are
  /// not in StepRow.
  TrainCurves(std::int64_t max_steps, std::int64_t max_evaluations,
              std::vector<std::string> value_names, bool has_cross_entropy = false,
              std::vector<ReportedValue> step_values = {});

  /// Adds the metrics of a step, and the numbers that step_values() describes.
  /// Errors: Error if `values` has another size than step_values().
  void add_step(std::int64_t step, const train::StepRow& row, std::span<const double> values = {});
  /// Adds the values of the evaluation after `steps_done` steps.
  /// Errors: Error if the names in `values` are not value_names(), or if `max_evaluations`
  ///         evaluations are already stored.
  void add_evaluation(std::int64_t steps_done, const std::map<std::string, double>& values);

  train::StepRow step(std::int64_t step) const;
  const std::vector<ReportedValue>& step_values() const { return step_values_; }
  /// Returns the value of step `step` that step_values()[index] describes.
  double step_value(std::int64_t step, std::size_t index) const;
  bool has_cross_entropy() const { return cross_entropies_.defined(); }
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t evaluated_at(std::int64_t index) const;  // steps done before evaluation `index`
  /// Returns value `name` of evaluation `index`.
  /// Errors: Error if the name is unknown.
  double value(std::int64_t index, const std::string& name) const;
  const std::vector<std::string>& value_names() const { return value_names_; }

  const at::Tensor& step_table() const { return steps_; }
  const at::Tensor& cross_entropies() const { return cross_entropies_; }
  const at::Tensor& step_value_table() const { return step_value_rows_; }
  const at::Tensor& evaluation_table() const { return evaluation_rows_; }
  void set_evaluations(std::int64_t count) { evaluations_ = count; }

private:
  at::Tensor steps_;  // [max_steps, 4] float64, host: loss, accuracy, learning rate, gradient norm
  at::Tensor cross_entropies_;  // [max_steps] float64, host; undefined: not stored
  std::vector<ReportedValue> step_values_;
  at::Tensor step_value_rows_;  // [max_steps, size of step_values_] float64, host
  std::vector<std::string> value_names_;
  at::Tensor evaluation_rows_;  // [max_evaluations, 1 + values] float64: steps done, then values
  std::int64_t evaluations_ = 0;
};

/// A tensor in host memory that is saved with each checkpoint, in addition to weights and moments.
struct KeptTensor {
  std::string name;  // "rollout.ids"
  at::Tensor values;
};

/// Everything that a training run needs to continue as if it had never stopped.
class TrainState {
public:
  /// Keeps references to all arguments except `kept`; the referenced objects must outlive this
  /// object. The function save() also saves the tensors of `kept`, and load() fills them.
  TrainState(tensor::ParameterArena& parameters, train::Adamw& optimizer, train::LossScaler& scaler,
             TrainCurves& curves, std::vector<KeptTensor> kept = {});

  std::int64_t steps_done = 0;
  /// The number of steps that were skipped because their gradient was infinite or NaN. The count
  /// steps_done includes these steps.
  std::int64_t steps_skipped = 0;
  double best_score = -1.0;    // highest TrainTask::Evaluation::score so far; -1: none
  std::uint32_t data_crc = 0;  // checksum of the training data
  /// The contents of the files that are saved with the weights, by file name. Only the files of
  /// rank 0 are used.
  std::map<std::string, std::string> files;

  /// Saves a checkpoint. `is_best` marks it as the best one so far. `global_batch` is the number of
  /// samples per step.
  /// Ranks:  collective over the group of `checkpoints`.
  /// Errors: those of CheckpointStore.
  void save(const store::CheckpointStore& checkpoints, std::int64_t global_batch, bool is_best);

  /// Loads the newest checkpoint, if there is one. Returns warnings about damaged checkpoints.
  ///
  /// Ranks:  collective over the group of `checkpoints`.
  /// Errors: those of CheckpointStore; Failure E611 if the checkpoint lacks a value of TrainState.
  std::vector<std::string> load(const store::CheckpointStore& checkpoints);

private:
  void from_device();
  void to_device();

  tensor::ParameterArena* parameters_;
  train::Adamw* optimizer_;
  train::LossScaler* scaler_;
  TrainCurves* curves_;
  at::Tensor weights_;        // [elements] float32, host copy; on the CPU the arena itself
  at::Tensor first_moment_;   // of AdamW, stored like weights_
  at::Tensor second_moment_;  // of AdamW, stored like weights_
  std::vector<KeptTensor> kept_;
  std::vector<formats::NamedTensor> model_tensors_;  // views into weights_
  std::vector<formats::NamedTensor> trainer_tensors_;
};

/// Loads the newest checkpoint of an unfinished run into `state`, for Recipe::merge(). The result
/// contains the warnings of TrainState::load(), and a MergedPart "training" with the number of
/// steps done.
/// Ranks:  collective over `world`.
/// Errors: those of TrainState::load().
run::MergedRun merged_training(const cluster::Group& world, const run::SealPlace& place,
                               const LoopSettings& loop, TrainState& state);

}  // namespace mgpu::recipes
