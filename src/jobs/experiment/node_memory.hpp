#pragma once

#include <vector>

#include <mgpu/cluster/topology.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>

#include "earlier_runs.hpp"
#include "schedule.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Returns the memory of the nodes of a run, and estimates of what each stage needs. The result is
/// empty on GPUs, and if no two ranks share a node. NodeMemory::of_rank returns 0 (unknown) for a
/// stage that cannot be estimated, or that an earlier run has done.
///
/// Ranks:   collective over the run's ranks. The ranks of node 0 divide the estimates among
///          themselves.
/// Returns: NodeMemory::of_rank is empty on all ranks but rank 0.
NodeMemory memory_of_nodes(const run::RunContext& run, const std::vector<Stage>& stages,
                           const StagePlace& place);

/// Returns the memory of the nodes that a plan is for, without NodeMemory::of_rank. `margin`: the
/// value of devices.memory_margin, the share of a node's memory that stages may not use.
NodeMemory memory_of_nodes(const run::PlanMachine& machine, double margin);

}  // namespace mgpu::jobs
