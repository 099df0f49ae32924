#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/store/checkpoint/checkpoint_store.hpp>
#include <mgpu/train/adamw.hpp>
#include <mgpu/train/loss_scaler.hpp>
#include <mgpu/train/train_loop.hpp>

namespace mgpu::recipes {

/// The curves of the training so far. They are saved with each checkpoint, so a resumed run has the
/// same curves as an uninterrupted run.
class TrainCurves {
public:
  /// Allocates room for every step and every evaluation of the job. `value_names` names the values
  /// of an evaluation.
  TrainCurves(std::int64_t max_steps, std::int64_t max_evaluations,
              std::vector<std::string> value_names);

  void add_step(std::int64_t step, const train::StepRow& row);
  /// Adds the values of an evaluation. Errors: Error if the names differ from those of the
  /// constructor, or all evaluations are already stored.
  void add_evaluation(std::int64_t steps_done, const std::map<std::string, double>& values);

  train::StepRow step(std::int64_t step) const;
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t evaluated_at(std::int64_t index) const;  // number of steps done
  /// Returns a value of evaluation `index`. Errors: Error if the name is unknown.
  double value(std::int64_t index, const std::string& name) const;
  const std::vector<std::string>& value_names() const { return value_names_; }

  const at::Tensor& step_table() const { return steps_; }
  const at::Tensor& evaluation_table() const { return evaluation_rows_; }
  void set_evaluations(std::int64_t count) { evaluations_ = count; }

private:
  at::Tensor steps_;  // [max_steps, 4] float64, host: loss, accuracy, learning rate, norm
  std::vector<std::string> value_names_;
  at::Tensor evaluation_rows_;  // [max_evaluations, 1 + values] float64: steps done, then values
  std::int64_t evaluations_ = 0;
};

/// Everything that a training run needs to continue as if it had never stopped.
class TrainState {
public:
  /// The referenced objects must outlive this object.
  TrainState(tensor::ParameterArena& parameters, train::Adamw& optimizer, train::LossScaler& scaler,
             TrainCurves& curves);

  std::int64_t steps_done = 0;
  std::int64_t steps_skipped = 0;  // of steps_done, because of a gradient that is infinite or NaN
  double best_score = -1.0;        // -1: not evaluated yet
  std::uint32_t data_crc = 0;      // of the training data
  std::map<std::string, std::string> files;  // saved with the weights; rank 0's are used

  /// Saves a checkpoint. Ranks: collective. Errors: those of CheckpointStore.
  void save(const store::CheckpointStore& checkpoints, std::int64_t global_batch, bool is_best);

  /// Loads the newest checkpoint. Returns the warnings about damaged checkpoints. Does nothing if
  /// there is no checkpoint.
  ///
  /// Ranks:  collective. Errors: those of CheckpointStore.
  std::vector<std::string> load(const store::CheckpointStore& checkpoints);

private:
  void from_device();
  void to_device();

  tensor::ParameterArena* parameters_;
  train::Adamw* optimizer_;
  train::LossScaler* scaler_;
  TrainCurves* curves_;
  at::Tensor weights_;        // [elements] float32, host; on the CPU backend the arena itself
  at::Tensor first_moment_;   //
  at::Tensor second_moment_;  //
  std::vector<formats::NamedTensor> model_tensors_;  // views into weights_
  std::vector<formats::NamedTensor> trainer_tensors_;
};

}  // namespace mgpu::recipes
