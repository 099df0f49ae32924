#pragma once

#include <vector>

#include <mgpu/cluster/topology.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>

#include "earlier_runs.hpp"
#include "schedule.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Returns the memory of the nodes of a run, and estimates of what each stage needs. On GPUs it is
/// empty, since ranks do not share GPUs. It is also empty if no two ranks share a node. A stage
/// that
/// --plan cannot estimate, or that an earlier run has done, needs 0 bytes, which means unknown.
///
/// Ranks:   collective over the run's ranks. Ranks of node 0 divide the estimates among them.
/// Returns: NodeMemory::of_rank is empty on all ranks but rank 0.
NodeMemory memory_of_nodes(const run::RunContext& run, const std::vector<Stage>& stages,
                           const StagePlace& place);

/// Returns the memory of the nodes of a machine that a plan is for, without NodeMemory::of_rank.
/// `margin`: see devices.memory_margin.
NodeMemory memory_of_nodes(const run::PlanMachine& machine, double margin);

}  // namespace mgpu::jobs
