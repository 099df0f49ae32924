#pragma once

#include <vector>

#include <mgpu/run/session.hpp>

#include "earlier_runs.hpp"
#include "stage_end.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Runs a stage as a session on the ranks of the order, with the results that the job alone would
/// have. Before the session ends, it writes outcome.json unless the job was stopped. If the job is
/// done, it also writes the exports that other stages read.
///
/// Ranks:  collective over the members of the order.
/// Returns: how the stage ended, on the first member; on others only the exit is meaningful.
StageEnd run_stage(run::SessionHost& host, const std::vector<Stage>& stages,
                   const StageOrder& order, const StagePlace& place);

}  // namespace mgpu::jobs
