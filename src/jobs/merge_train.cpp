#include <filesystem>
#include <optional>

#include <mgpu/jobs/merge_train.hpp>
#include <mgpu/jobs/phases.hpp>
#include <mgpu/jobs/train_histories.hpp>
#include <mgpu/jobs/train_results.hpp>
#include <mgpu/jobs/train_settings.hpp>
#include <mgpu/jobs/train_state.hpp>
#include <mgpu/model/ad_transformer.hpp>
#include <mgpu/store/seal.hpp>

#include "train_lm.hpp"

namespace mgpu::jobs {
namespace {

/// The training as its newest checkpoint has it, on the CPU.
class StoredTraining {
public:
  explicit StoredTraining(const TrainSettings& settings)
      : model_(settings.model, Device{}, settings.seed),
        optimizer_(model_.parameters(), settings.optimizer.adamw),
        scaler_(settings.optimizer.mixed_precision == model::ComputeKind::f16),
        curves_(settings.optimizer.schedule.max_steps, settings.planned_evaluations(),
                settings.evaluate.episodes),
        state_(model_.parameters(), optimizer_, scaler_, curves_) {}

  std::vector<std::string> load(const store::CheckpointStore& checkpoints) {
    return state_.load(checkpoints);
  }
  const model::AdTransformer& model() const { return model_; }
  const TrainCurves& curves() const { return curves_; }
  std::int64_t steps_done() const { return state_.steps_done; }

private:
  model::AdTransformer model_;
  train::Adamw optimizer_;
  train::LossScaler scaler_;
  TrainCurves curves_;
  TrainState state_;
};

MergedPart seal_partly(const cluster::Group& world, const store::ChunkJournal& journal,
                       store::SealRequest request, MergedPart part) {
  request.partial = true;
  const store::SealReport report = store::seal(world, journal, request);
  part.present = report.rows;
  part.planned = report.rows + report.missing_rows;
  return part;
}

/// Nothing where the histories come from a file, or are sealed already.
std::optional<MergedPart> merge_histories(const cluster::Group& world, const SealPlace& place,
                                          const store::ChunkJournal& journal,
                                          const TrainSettings& settings,
                                          const data::Environment& environment) {
  if (!settings.data.path.empty()) return std::nullopt;
  const data::HistoryShape shape{settings.data.streams, settings.data.episodes,
                                 environment.horizon()};
  const store::SealRequest request = histories_request(place, environment, shape);
  if (is_sealed(world, request.path)) return std::nullopt;
  return seal_partly(world, journal, request, {"histories", 0, 0, "histories"});
}

}  // namespace

MergedRun merge_train_job(const cluster::Group& world, const SealPlace& place,
                          const store::ChunkJournal& journal) {
  if (trains_language_model(place.config)) return merge_lm_training(world, place);
  TrainSettings settings;
  cluster::run_together(world, [&] { settings = read_train_settings(place.config); });
  const auto environment = data::make_environment(settings.data.env, settings.data.env_split_seed);
  StoredTraining training(settings);
  MergedRun merged;
  merged.warnings =
      training.load({world,
                     place.directory.path(),
                     {static_cast<int>(place.directory.attempt()), settings.checkpoint.keep}});
  if (const auto part = merge_histories(world, place, journal, settings, *environment)) {
    merged.parts.push_back(*part);
  }
  merged.parts.push_back(
      {"training", training.steps_done(), settings.optimizer.schedule.max_steps, "steps"});
  const FinalEvaluation evaluation =
      final_evaluation(training.model(), *environment, settings.evaluate);
  merged.parts.push_back(seal_partly(
      world, journal, results_request(place, evaluation, training.curves(), training.steps_done()),
      {"evaluation", 0, 0, "episodes"}));
  return merged;
}

}  // namespace mgpu::jobs
