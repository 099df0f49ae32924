#pragma once

#include <vector>

#include <mgpu/cluster/topology.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>

#include "earlier_runs.hpp"
#include "schedule.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Returns the host memory of the nodes of a run, and estimates of the memory that each stage
/// needs. The result is empty if the run uses GPUs, or if no two ranks share a node.
/// NodeMemory::of_rank returns 0 (unknown) for a stage that cannot be estimated, or whose earlier
/// run is reused.
///
/// Ranks:   collective over the run's ranks. The ranks of node 0 divide the estimates among
///          themselves.
/// Returns: on ranks other than 0, NodeMemory::of_rank is empty.
NodeMemory memory_of_nodes(const run::RunContext& run, const std::vector<Stage>& stages,
                           const StagePlace& place);

/// Returns the host memory of the nodes of `machine`, for --plan. NodeMemory::of_rank is empty. The
/// whole result is empty if the machine uses GPUs, or if no two ranks share a node. `margin` is the
/// value of devices.memory_margin, the share of a node's memory that stages may not use.
NodeMemory memory_of_nodes(const run::PlanMachine& machine, double margin);

}  // namespace mgpu::jobs
