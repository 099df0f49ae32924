#pragma once

#include <vector>

#include <mgpu/report/job_page.hpp>
#include <mgpu/run/run_context.hpp>

#include "coordinator.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Writes results.h5 with table `stages`, which depends on neither ranks nor times.
/// Ranks:  collective over the run. `records` is used on rank 0 only.
void seal_stages(run::RunContext& run, const std::vector<Stage>& stages,
                 const std::vector<StageRecord>& records);

/// Returns how the experiment ended. `records` is used on rank 0 only; other ranks get the counts.
/// Ranks:  collective over the run.
run::JobOutcome outcome_of(run::RunContext& run, const std::vector<Stage>& stages,
                           const std::vector<StageRecord>& records);

}  // namespace mgpu::jobs
