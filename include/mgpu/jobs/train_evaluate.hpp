#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/data/environment.hpp>
#include <mgpu/data/tokens.hpp>
#include <mgpu/jobs/ad_tables.hpp>
#include <mgpu/jobs/evaluate_config.hpp>
#include <mgpu/jobs/run_context.hpp>
#include <mgpu/model/ad_transformer.hpp>
#include <mgpu/report/train_report.hpp>
#include <mgpu/store/read_table.hpp>

namespace mgpu::jobs {

/// What an evaluation plays with.
struct Player {
  const model::AdTransformer& model;
  const data::Environment& environment;
  const data::WindowRules& rules;
  std::uint64_t seed = 0;
};

/// Means over all runs and tasks, by episode.
using EpisodeReturns = std::vector<double>;
double mean(const EpisodeReturns& returns);

/// Returns of unseen tasks with the weights as they are, in the middle of training: the runs are
/// shared out over the ranks, their whole-number returns added up.
///
/// Ranks:  collective over the world.
EpisodeReturns evaluate_now(RunContext& run, const Player& player, const EvaluateConfig& config);

/// The final evaluation: every run of every unseen task under every control.
struct FinalEvaluation {
  EvaluationGrid grid;
  std::uint32_t phase = 0;  // in the journal: belongs to these weights
};

/// The final evaluation of these weights.
FinalEvaluation final_evaluation(const model::AdTransformer& model,
                                 const data::Environment& environment,
                                 const EvaluateConfig& config);

/// Plays it in journaled chunks. Nothing when a stop was asked for before it was complete.
///
/// Ranks:  collective over the world.
std::optional<FinalEvaluation> evaluate_finally(RunContext& run, const Player& player,
                                                const EvaluateConfig& config);

/// What table `samples` of a sealed file says, with the lists of its column `path`.
struct EvaluationResult {
  std::vector<EpisodeReturns> returns;             // by control, as in the grid
  std::vector<report::TrainPictures::Walk> walks;  // run 0 of each task without control
};
EvaluationResult result_of(const store::ReadTable& samples, const store::ReadLists& paths,
                           const EvaluationGrid& grid, const data::Environment& environment);

}  // namespace mgpu::jobs
