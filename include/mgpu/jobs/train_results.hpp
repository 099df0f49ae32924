#pragma once

#include <cstdint>

#include <mgpu/data/history.hpp>
#include <mgpu/jobs/seal_place.hpp>
#include <mgpu/jobs/train_evaluate.hpp>
#include <mgpu/jobs/train_state.hpp>
#include <mgpu/store/seal.hpp>

namespace mgpu::jobs {

/// /metrics/train: loss, accuracy, rate and norm of the first `steps` steps.
store::SmallTable train_table(const TrainCurves& curves, std::int64_t steps);

/// What results.h5 of a run is made of: /run, /metrics/train, /metrics/eval, /samples.
store::SealRequest results_request(const SealPlace& place, const FinalEvaluation& evaluation,
                                   const TrainCurves& curves, std::int64_t steps);

/// Writes results.h5, then reads the samples back.
///
/// Ranks:  collective over the world. Errors: those of seal() and read_table().
EvaluationResult seal_results(RunContext& run, const data::Environment& environment,
                              const FinalEvaluation& evaluation, const TrainCurves& curves,
                              std::int64_t steps);

/// What a finished training is judged by.
struct TrainVerdict {
  const data::Environment& environment;
  const data::HistorySet& histories;  // of the source
  const EvaluationGrid& grid;
  const EvaluationResult& result;
  const TrainCurves& curves;
};

/// Numbers and pictures of the training, for the log, the end table, summary.json and report.html.
void show_results(RunContext& run, const TrainVerdict& verdict, JobOutcome& outcome);

}  // namespace mgpu::jobs
