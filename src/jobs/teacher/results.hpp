#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/run/row_phase.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/seal.hpp>

#include "inputs.hpp"
#include "page.hpp"

namespace mgpu::jobs {

/// Returns the request with which store::seal() writes results.h5. The file gets the groups /run,
/// /teacher and /samples.
store::SealRequest teacher_request(const run::SealPlace& place, const TeacherInputs& inputs);

/// Writes results.h5 from the journal.
///
/// Ranks:  collective over the world.
/// Errors: those of seal().
void seal_targets(run::RunContext& run, const TeacherInputs& inputs);

/// Reads results.h5, and adds numbers and charts to `outcome`. The run makes its end table,
/// summary.json and report.html from `outcome`.
///
/// Ranks:  collective over the world.
/// Errors: those of read_table() and add_targets().
void add_target_results(run::RunContext& run, const TeacherInputs& inputs,
                        const std::vector<run::GroupWork>& groups, RankMap ranks,
                        run::JobOutcome& outcome);

}  // namespace mgpu::jobs
