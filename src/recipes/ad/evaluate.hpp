#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/tokens.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/store/results/read_table.hpp>

#include "recipes/train_page.hpp"
#include "settings.hpp"
#include "tables.hpp"

namespace mgpu::recipes {

/// The agent and the environment of an evaluation.
struct Player {
  const ad::AdTransformer& model;
  const ad::Environment& environment;
  const ad::WindowRules& rules;
  std::uint64_t seed = 0;
};

/// Mean return of each episode, over all rollouts and tasks.
using EpisodeReturns = std::vector<double>;
double mean(const EpisodeReturns& returns);

/// Returns the name of an episode's mean return among the values of an evaluation. Episodes count
/// from 1.
std::string return_name(int episode);

/// Returns the mean returns on unseen tasks with the current weights, in the middle of training.
/// The ranks share the rollouts and add up the returns, which are whole numbers.
///
/// Ranks:  collective over the world.
EpisodeReturns evaluate_now(run::RunContext& run, const Player& player, const AdSettings& settings);

/// The final evaluation: every rollout of every unseen task under every control.
struct FinalEvaluation {
  EvaluationGrid grid;
  std::uint32_t phase = 0;       // phase id in the journal, a checksum of the weights
  std::int64_t chunk_size = 32;  // rollouts of a chunk
};

/// Describes the final evaluation of these weights.
FinalEvaluation final_evaluation(const ad::AdTransformer& model, const ad::Environment& environment,
                                 const AdSettings& settings);

/// Plays the final evaluation in journaled chunks. Returns nothing when a stop was requested before
/// it was complete.
///
/// Ranks:  collective over the world.
std::optional<FinalEvaluation> evaluate_finally(run::RunContext& run, const Player& player,
                                                const AdSettings& settings);

/// The results in table `samples` of a sealed file, with the paths in its column `path`.
struct EvaluationResult {
  std::vector<EpisodeReturns> returns;  // by control, in the order of the grid
  std::vector<TrainPlots::Walk> walks;  // rollout 0 of each task without a control
};
EvaluationResult result_of(const store::ReadTable& samples, const store::ReadLists& paths,
                           const EvaluationGrid& grid, const ad::Environment& environment);

}  // namespace mgpu::recipes
