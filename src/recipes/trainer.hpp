#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/train/gradient_reducer.hpp>
#include <mgpu/train/objective.hpp>

#include "train_state.hpp"

namespace mgpu::recipes {

/// The model, data and evaluation of a training. The recipes implement this interface for job
/// train.
class TrainTask {
public:
  TrainTask() = default;
  TrainTask(const TrainTask&) = delete;
  TrainTask& operator=(const TrainTask&) = delete;
  TrainTask(TrainTask&&) = delete;
  TrainTask& operator=(TrainTask&&) = delete;
  virtual ~TrainTask() = default;

  virtual train::Objective& objective() = 0;

  /// Returns the checksum of the training data. A resumed run must have the same data.
  virtual std::uint32_t data_crc() const = 0;

  /// The words with which a message names the training data: a description, a noun and the file.
  struct DataPlace {
    std::string what;  // "the file of `data.path`"
    std::string noun;  // "histories"
    std::string path;
  };
  virtual DataPlace data_place() const = 0;

  /// Returns the files that every checkpoint has in addition to the weights, as contents by file
  /// name. All ranks call this function, but only the result of rank 0 is used.
  virtual std::map<std::string, std::string> model_files() const { return {}; }

  /// Returns the numbers that LoopSettings::step_values describes, for the most recent step.
  virtual std::span<const double> step_values() const { return {}; }

  /// Returns tensors that are saved with each checkpoint and filled when one is loaded. Their
  /// memory addresses must not change during the run.
  virtual std::vector<KeptTensor> kept_tensors() { return {}; }
  /// Fills kept_tensors() before a checkpoint is saved.
  /// Ranks:  collective over the world.
  virtual void before_save() {}
  /// Uses kept_tensors() after Trainer::restore() has loaded the newest checkpoint.
  /// Trainer::restore() also calls this function if there is no checkpoint. In this case, the
  /// tensors are unchanged.
  virtual void after_load() {}

  struct Evaluation {
    std::map<std::string, double> values;  // by the names in LoopSettings::evaluation_values
    std::optional<double> score;  // at least 0, higher is better; unset: the recipe has no score
  };

  /// Evaluates the current model after `step` steps. Writes the result to the log and to
  /// TensorBoard, and returns the result.
  /// Ranks:  collective over the world.
  virtual Evaluation evaluate(std::int64_t step) = 0;
};

/// On the CPU, grows the heap of this rank by the rank's share of the node's free memory. From then
/// on, the heap keeps the memory that a step frees, so that the next step can use it. Call this
/// function before the model is constructed. If a LanguageModel packs its weights into GEMM panels
/// afterwards, the kept memory returns to the system.
void keep_step_memory(const run::RunContext& run);

/// Runs the training loop of job train for any recipe. Owns the optimizer, the loop and the
/// checkpoints.
class Trainer {
public:
  /// Keeps references to all arguments, which must outlive this object.
  /// Ranks:  collective over the world.
  Trainer(run::RunContext& run, const LoopSettings& settings, TrainTask& task);

  /// Continues from the newest checkpoint, if there is one.
  ///
  /// Ranks:  collective over the world.
  /// Errors: those of TrainState::load(); Failure E608 if the training data differ from those of
  ///         the checkpoint.
  void restore();

  /// Trains to the last step, or until a stop is requested on any rank, and saves a checkpoint in
  /// both cases. Returns whether all steps are done.
  /// Ranks:  collective over the world.
  bool train();

  /// Returns what is reported at the end of the run: steps done, skipped steps, samples, pace and
  /// `exit`.
  run::JobOutcome outcome(ExitCode exit) const;

  const TrainCurves& curves() const { return curves_; }
  const TrainState& state() const { return state_; }
  std::int64_t saves() const { return saves_; }
  const train::TrainLoop& loop() const { return loop_; }
  std::int64_t num_parameters() const { return parameters_.num_parameters(); }

private:
  void require_same_data() const;
  std::int64_t max_steps() const { return settings_.optimizer.schedule.max_steps; }
  train::StepOutcome step(bool wants_stop);
  void log_step(const train::StepRow& row);
  void report(const train::StepOutcome& outcome);
  void report_trouble(const train::StepOutcome& outcome);
  void clear_and_log_memory();
  bool is_due(std::int64_t every) const;
  bool evaluate_if_due();
  bool save_is_due(bool is_best);
  bool is_save_time();
  void save(bool is_best);

  run::RunContext& run_;
  const LoopSettings& settings_;
  TrainTask& task_;
  tensor::ParameterArena& parameters_;
  train::Adamw optimizer_;
  train::LossScaler scaler_;
  train::GradientReducer reducer_;
  train::TrainLoop loop_;
  TrainCurves curves_;
  TrainState state_;
  store::CheckpointStore checkpoints_;
  report::StepPace pace_;
  double step_began_s_ = 0.0;    // when the current step began, on the run's clock
  std::int64_t steps_here_ = 0;  // steps of this attempt
  std::int64_t saves_ = 0;
  std::int64_t saved_at_ = -1;  // steps in the newest checkpoint; 0: none; -1: before restore()
  double saved_s_ = 0.0;        // time of this attempt's last save, on the run's clock; 0: none
};

/// Returns the facts about the batch for the banner: passes, copies of the model, global batch and
/// steps.
report::BannerFacts batch_facts(const run::RunContext& run, const LoopSettings& settings,
                                const Trainer& trainer);
/// Logs which items of each batch this rank computes. Logs a note if the warm-up is longer than the
/// training, or if passes are smaller than train.micro_batch_size.
void log_schedule(run::RunContext& run, const LoopSettings& settings, const Trainer& trainer);

}  // namespace mgpu::recipes
