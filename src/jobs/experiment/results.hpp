#pragma once

#include <vector>

#include <mgpu/report/job_page.hpp>
#include <mgpu/run/run_context.hpp>

#include "cell_results.hpp"
#include "coordinator.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Writes results.h5 with table `stages`, and table `cells` if there are cells. The tables do not
/// depend on the number of ranks or on times. `records` and `cells` are used on rank 0 only.
/// Ranks:  collective over the world.
/// Errors: those of store::seal().
void seal_stages(run::RunContext& run, const std::vector<Stage>& stages,
                 const std::vector<StageRecord>& records, const std::vector<CellResult>& cells);

/// Prints the stages and cells. Returns the outcome of the experiment without its exit code. On
/// ranks other than 0, `records` and `cells` must be empty, and the outcome has only the counts of
/// stages.
/// Ranks:  collective over the world.
run::JobOutcome outcome_of(run::RunContext& run, const std::vector<Stage>& stages,
                           const std::vector<StageRecord>& records,
                           const std::vector<CellResult>& cells);

}  // namespace mgpu::jobs
