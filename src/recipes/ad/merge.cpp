#include <filesystem>
#include <optional>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/store/results/seal.hpp>

#include "histories.hpp"
#include "recipe.hpp"
#include "recipes/train_state.hpp"
#include "results.hpp"

namespace mgpu::recipes {
namespace {

/// The state of the training, which load() reads from the newest checkpoint into CPU tensors.
class StoredTraining {
public:
  explicit StoredTraining(const AdSettings& settings)
      : model_(settings.model, Device{}, settings.loop.seed),
        optimizer_(model_.parameters(), settings.loop.optimizer.adamw),
        scaler_(settings.loop.optimizer.mixed_precision == tensor::ComputeKind::f16),
        curves_(settings.loop.optimizer.schedule.max_steps, settings.loop.planned_evaluations(),
                settings.loop.evaluation_values),
        state_(model_.parameters(), optimizer_, scaler_, curves_) {}

  run::MergedRun load(const cluster::Group& world, const run::SealPlace& place,
                      const LoopSettings& loop) {
    return merged_training(world, place, loop, state_);
  }
  const ad::AdTransformer& model() const { return model_; }
  const TrainCurves& curves() const { return curves_; }
  std::int64_t steps_done() const { return state_.steps_done; }

private:
  ad::AdTransformer model_;
  train::Adamw optimizer_;
  train::LossScaler scaler_;
  TrainCurves curves_;
  TrainState state_;
};

run::MergedPart seal_partly(const cluster::Group& world, const store::ChunkJournal& journal,
                            store::SealRequest request, run::MergedPart part) {
  request.partial = true;
  const store::SealResult report = store::seal(world, journal, request);
  part.present = report.rows;
  part.planned = report.rows + report.missing_rows;
  return part;
}

/// Writes the histories in the journal to histories.h5. Returns nullopt, and writes no file, if the
/// histories come from data.path or histories.h5 is already complete.
std::optional<run::MergedPart> merge_histories(const cluster::Group& world,
                                               const run::SealPlace& place,
                                               const store::ChunkJournal& journal,
                                               const AdSettings& settings,
                                               const ad::Environment& environment) {
  if (!settings.data.path.empty()) return std::nullopt;
  const store::SealRequest request = histories_request(place, settings, environment);
  if (is_sealed(world, request.path)) return std::nullopt;
  return seal_partly(world, journal, request, {"histories", 0, 0, "histories"});
}

}  // namespace

run::MergedRun AdRecipe::merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) const {
  const AdSettings& settings = settings_;
  const auto environment = ad::make_environment(settings.data.env, settings.data.env_split_seed);
  StoredTraining training(settings);
  run::MergedRun merged = training.load(world, place, settings.loop);
  if (const auto part = merge_histories(world, place, journal, settings, *environment))
    merged.parts.insert(merged.parts.begin(), *part);
  const FinalEvaluation evaluation = final_evaluation(training.model(), *environment, settings);
  merged.parts.push_back(seal_partly(
      world, journal, results_request(place, evaluation, training.curves(), training.steps_done()),
      {"evaluation", 0, 0, "episodes"}));
  return merged;
}

}  // namespace mgpu::recipes
