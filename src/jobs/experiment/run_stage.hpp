#pragma once

#include <vector>

#include <mgpu/run/session.hpp>

#include "earlier_runs.hpp"
#include "stage_end.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Runs a stage as a session on the ranks of the order, with the results that the job alone would
/// have. Exports that other stages read, and outcome.json, are written before the session ends.
///
/// Ranks:  collective over the members of the order.
/// Returns: how the stage ended, on the first member; on others only the exit is meaningful.
StageEnd run_stage(run::SessionHost& host, const std::vector<Stage>& stages,
                   const StageOrder& order, const StagePlace& place);

}  // namespace mgpu::jobs
