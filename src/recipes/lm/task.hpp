#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/training/lm_objective.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/mean_loss.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/run/run_context.hpp>

#include "data.hpp"
#include "keys.hpp"
#include "method.hpp"
#include "recipes/trainer.hpp"

namespace mgpu::recipes {

/// Packs the training examples into windows of train.seq_len tokens.
lm::LmWindows windows_of(const LmTrainSettings& settings, const LmMethod& method,
                         lm::LmExamples examples);

/// Returns the options of the model, including the additional head of the method.
lm::TrainingOptions options_of(const LmTrainSettings& settings, const LmMethod& method,
                               const lm::LmConfig& config);

/// The parts from which an LmTask is made, in addition to data and model configuration. All
/// references must outlive the LmTask.
struct LmTaskParts {
  const LmTrainSettings& settings;
  const LmMethod& method;
  OpenMethod& open;
};

/// The training of a language model: the model, the packed training examples and the held-out
/// examples. The order of members matters: each one is declared after those that it needs.
class LmTask final : public TrainTask {
public:
  /// Keeps references to `run` and to the members of `parts`, which must outlive this object.
  LmTask(run::RunContext& run, const LmTaskParts& parts, lm::LmConfig config, LmData data);

  train::Objective& objective() override { return objective_; }
  std::uint32_t data_crc() const override { return data_crc_; }
  DataPlace data_place() const override;
  std::map<std::string, std::string> model_files() const override;
  std::span<const double> step_values() const override;
  Evaluation evaluate(std::int64_t step) override;

  /// Loads the weights from the model's folder: rank 0 reads them, and the other ranks receive
  /// them. Does nothing for a training from random weights.
  /// Ranks:  collective over the world.
  void load_weights();

  /// Passes the current weights to OpenMethod::begin(). If the method needs a reference, adds the
  /// log-probabilities of the reference to all examples. The reference is the model of
  /// LmMethod::reference_folder(), or the current weights if this folder is "". Call this function
  /// after load_weights() and before Trainer::restore(). Returns false if a stop was requested.
  /// Ranks:  collective over the world.
  /// Errors: those of reference_log_probs().
  bool add_reference();

  std::vector<KeptTensor> kept_tensors() override { return open_.kept_tensors(); }
  void before_save() override { open_.before_save(run_.topology.world()); }
  void after_load() override { open_.after_load(); }

  const lm::LmWindows& windows() const { return windows_; }
  /// Returns the number of items of an epoch.
  std::uint64_t epoch_size() const { return items_->epoch_size(); }
  /// The held-out examples: those of data.eval_path, of a validation split, or of the questions
  /// that the method holds out. Empty if the training has no such examples.
  const lm::LmWindows& held_out() const { return held_out_; }
  const lm::TrainableModel& model() const { return model_; }
  const LmMethod& method() const { return method_; }

private:
  /// Opens the model of LmMethod::reference_folder() in `other`, and returns the model.
  /// Ranks:  collective over the world.
  const lm::TrainableModel& open_reference(std::optional<lm::TrainableModel>& other) const;

  run::RunContext& run_;
  const LmTrainSettings& settings_;
  const LmMethod& method_;
  OpenMethod& open_;
  lm::LmWindows windows_;
  lm::LmWindows held_out_;
  std::unique_ptr<lm::LmItems> items_;
  lm::TrainableModel model_;
  lm::LmObjective objective_;
  std::uint32_t data_crc_;
  std::uint32_t reference_crc_;
  std::string chat_template_;  // rank 0: the chosen chat template; "": that of the model's folder
};

}  // namespace mgpu::recipes
