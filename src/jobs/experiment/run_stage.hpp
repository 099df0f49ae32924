#pragma once

#include <vector>

#include <mgpu/run/session.hpp>

#include "earlier_runs.hpp"
#include "stage_end.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Runs a stage as a run::Session on the ranks StageOrder::members. Its results equal those of the
/// job without an experiment. Before the session ends, writes outcome.json unless the job was
/// stopped. If the job is done, also writes the exports that other stages read.
///
/// Ranks:   collective over the members of the order.
/// Returns: the result of the stage on the first member. On other members only the exit code is
///          meaningful.
StageEnd run_stage(run::SessionHost& host, const std::vector<Stage>& stages,
                   const StageOrder& order, const StagePlace& place);

}  // namespace mgpu::jobs
