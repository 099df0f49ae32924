#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/run/row_phase.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "inputs.hpp"

namespace mgpu::jobs {

/// Returns a request to seal results.h5 with the groups /run and /samples.
store::SealRequest generate_request(const run::SealPlace& place, const GenerateInputs& inputs);

/// Writes results.h5 from the journal.
///
/// Ranks:  collective over the world.
/// Errors: those of seal().
void seal_completions(run::RunContext& run, const GenerateInputs& inputs);

/// Reads results.h5, and adds numbers and charts to `outcome`, from which the end table,
/// summary.json and report.html are made.
///
/// Ranks:  collective over the world.
/// Errors: those of read_table().
void add_completion_results(run::RunContext& run, const GenerateInputs& inputs,
                            const std::vector<run::GroupWork>& groups, run::JobOutcome& outcome);

}  // namespace mgpu::jobs
