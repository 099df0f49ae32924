#pragma once

#include <vector>

#include <mgpu/run/row_phase.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "inputs.hpp"

namespace mgpu::jobs {

/// Returns the request with which seal() writes results.h5.
store::SealRequest collect_request(const run::SealPlace& place, const CollectInputs& inputs);

/// Reads results.h5, and adds numbers and charts to `outcome`. The run makes its end table,
/// summary.json and report.html from `outcome`. `groups` has the work of all groups of ranks.
///
/// Ranks:  collective over the world.
/// Errors: those of read_table() and TreeReader.
void add_collect_results(run::RunContext& run, const CollectInputs& inputs,
                         const std::vector<run::GroupWork>& groups, run::JobOutcome& outcome);

}  // namespace mgpu::jobs
