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

#include "page.hpp"
#include "settings.hpp"
#include "tables.hpp"

namespace mgpu::recipes {

/// The agent that an evaluation tests, and its environment.
struct Player {
  const ad::AdTransformer& model;
  const ad::Environment& environment;
  const ad::WindowRules& rules;
  std::uint64_t seed = 0;
};

/// Mean returns. Element e is the return of episode e + 1, averaged over several rollouts of an
/// agent, or over several learning histories.
using EpisodeReturns = std::vector<double>;
double mean(const EpisodeReturns& returns);

/// Returns "return.N" for episode N, where N counts from 1. TrainTask::Evaluation::values has the
/// mean return of episode N under this name.
std::string return_name(int episode);

/// Evaluates the current weights on unseen tasks in the middle of training. Returns the mean return
/// of each episode, over all rollouts and tasks. The ranks share the rollouts, and add up the
/// returns as integers, so the result does not depend on the number of ranks.
///
/// Ranks:  collective over the world.
EpisodeReturns evaluate_now(run::RunContext& run, const Player& player, const AdSettings& settings);

/// Describes the final evaluation, which plays `grid.runs` rollouts of every unseen task under each
/// Control of `grid`.
struct FinalEvaluation {
  EvaluationGrid grid;
  std::uint32_t phase = 0;       // phase id in the journal, derived from a checksum of the weights
  std::int64_t chunk_size = 32;  // number of rollouts in a chunk
};

/// Describes the final evaluation of the current weights of `model`, without playing an episode.
FinalEvaluation final_evaluation(const ad::AdTransformer& model, const ad::Environment& environment,
                                 const AdSettings& settings);

/// Plays the final evaluation in chunks, which the journal records. Returns nullopt if a stop was
/// requested before the evaluation was complete.
///
/// Ranks:  collective over the world.
std::optional<FinalEvaluation> evaluate_finally(run::RunContext& run, const Player& player,
                                                const AdSettings& settings);

/// The results of the final evaluation. They are computed from table `samples` of results.h5 and
/// from its list column `path`.
struct EvaluationResult {
  std::vector<EpisodeReturns> returns;  // [controls]: means over all rollouts of each control
  /// Means over the rollouts of each task. Shapes: [controls][tasks]
  std::vector<std::vector<EpisodeReturns>> by_task;
  std::vector<AdPlots::Walk> walks;  // paths of rollout 0 of each task under Control::none
};
EvaluationResult result_of(const store::ReadTable& samples, const store::ReadLists& paths,
                           const EvaluationGrid& grid, const ad::Environment& environment);

}  // namespace mgpu::recipes
