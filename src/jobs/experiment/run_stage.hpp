#pragma once

#include <vector>

#include <mgpu/run/session.hpp>

#include "earlier_runs.hpp"
#include "stage_end.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Runs a stage as a run::Session on the ranks StageOrder::members. The stage has the same results
/// as a run of its job outside an experiment. Writes outcome.json unless the job was stopped or
/// threw an exception. If the job is done, also writes the exports that other stages read.
///
/// Ranks:   collective over the ranks StageOrder::members.
/// Returns: the end of the stage on the first member. On other members only StageEnd::exit is
///          meaningful.
StageEnd run_stage(run::SessionHost& host, const std::vector<Stage>& stages,
                   const StageOrder& order, const StagePlace& place);

}  // namespace mgpu::jobs
