#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/ad/history.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "evaluate.hpp"
#include "recipes/train_state.hpp"

namespace mgpu::recipes {

/// The minimum number of goals for which the page draws an interval around their mean return.
inline constexpr std::size_t kGoalsOfBand = 3;

/// Returns a 95 % confidence interval of the mean return over all tasks, for each episode
/// (percentile bootstrap). Each resample draws as many tasks as `by_task` has, with replacement.
/// The ends of the interval are quantiles of the means of the resamples. The draws are the same on
/// every rank and in every run.
///
/// Shapes: by_task [tasks], each with one return per episode
AdPlots::Band interval_of_mean(const std::vector<EpisodeReturns>& by_task);

/// Returns interval_of_mean(), or no band for fewer than kGoalsOfBand tasks.
AdPlots::Band band_of(const std::vector<EpisodeReturns>& by_task);

/// Returns the mean return of each episode for each task that has histories, in ascending order of
/// tasks.
std::vector<EpisodeReturns> returns_by_task(const ad::HistorySet& histories);

/// Returns the request with which seal() writes results.h5. The file gets the groups /run,
/// /metrics/train, /metrics/eval, /samples and /arrays/samples.
store::SealRequest results_request(const run::SealPlace& place, const FinalEvaluation& evaluation,
                                   const TrainCurves& curves, std::int64_t steps);

/// Writes results.h5, then reads its table `samples` back. Returns the results of the evaluation.
///
/// Ranks:  collective over the world.
/// Errors: those of seal(), read_table() and read_lists(), on all ranks.
EvaluationResult seal_results(run::RunContext& run, const ad::Environment& environment,
                              const FinalEvaluation& evaluation, const TrainCurves& curves,
                              std::int64_t steps);

/// The data from which the results are computed when training has finished.
struct TrainVerdict {
  const ad::Environment& environment;
  const ad::HistorySet& histories;  // histories of the algorithm that was distilled
  const EvaluationGrid& grid;
  const EvaluationResult& result;
  const TrainCurves& curves;
};

/// Logs the returns, and adds numbers and charts of the training to `outcome`. The program makes
/// the table at the end of the run, summary.json and report.html from `outcome`.
void add_training_results(run::RunContext& run, const TrainVerdict& verdict,
                          run::JobOutcome& outcome);

}  // namespace mgpu::recipes
