#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "page.hpp"
#include "recipes/train_state.hpp"

// Writes and describes the results of a training: tables of curves, the result line, and the page.
namespace mgpu::recipes {

/// Returns a request to write results.h5 with table metrics/train, which contains the first `steps`
/// steps. If there are evaluations, the file also gets table metrics/eval with all evaluations.
/// `held_out_values` describes the values of an evaluation other than loss and accuracy.
store::SealRequest lm_results(const run::SealPlace& place, const TrainCurves& curves,
                              std::int64_t steps, const std::string& loss_unit,
                              std::span<const ReportedValue> held_out_values);

struct ResultNames {
  std::string held_out;  // name of the held-out rows, such as "data.eval_path"
  std::string accuracy;  // label of the accuracy (LmMethod::accuracy())
  std::string loss_unit;
};

/// Adds results, the result line and the page to `outcome`. `outcome.done` must be the number of
/// finished steps. `plots` must have all data of the page except the curves, which this function
/// adds.
void add_training_results(const TrainCurves& curves, const ResultNames& names,
                          std::span<const ReportedValue> held_out_values, LmPlots plots,
                          run::JobOutcome& outcome);

}  // namespace mgpu::recipes
