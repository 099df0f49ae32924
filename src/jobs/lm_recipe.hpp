#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <mgpu/algorithms/lm_objective.hpp>
#include <mgpu/algorithms/lm_windows.hpp>
#include <mgpu/jobs/lm_data.hpp>
#include <mgpu/jobs/lm_train_config.hpp>
#include <mgpu/jobs/run_context.hpp>
#include <mgpu/language/trainable_model.hpp>

#include "lm_teacher.hpp"
#include "trainer.hpp"

namespace mgpu::jobs {

/// Examples packed as the settings say.
algorithms::LmWindows windows_of(const LmTrainSettings& settings, algorithms::LmExamples examples);

/// Model, packed data and held-out loss of a language model's training, built in the order in which
/// they depend on each other. Run and settings have to live as long as it.
class LmRecipe final : public TrainRecipe {
public:
  /// `teacher` nullptr: there is none.
  LmRecipe(RunContext& run, const LmTrainSettings& settings, language::LmConfig config, LmData data,
           const LmTeacher* teacher);

  train::Objective& objective() override { return objective_; }
  std::uint32_t data_crc() const override;
  DataPlace data_place() const override;
  std::map<std::string, std::string> model_files() const override;
  Evaluation evaluate(std::int64_t step) override;

  /// Rank 0 reads the weights, the others receive them. Collective.
  void load_weights();

  const algorithms::LmWindows& windows() const { return windows_; }
  const language::TrainableModel& model() const { return model_; }

private:
  double held_out_loss() const;

  RunContext& run_;
  const LmTrainSettings& settings_;
  algorithms::LmWindows windows_;
  algorithms::LmWindows held_out_;
  language::TrainableModel model_;
  algorithms::LmObjective objective_;
  std::uint32_t teacher_crc_;
  std::string chat_template_;  // that the examples are written in, where it is not the folder's
};

}  // namespace mgpu::jobs
