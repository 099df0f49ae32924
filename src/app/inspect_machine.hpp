#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::app {

/// Returns the number of ranks to plan for: devices.world if it is set, else the number that mpirun
/// launched. Without mpirun, one group of each size is planned: the sum of devices.groups, or
/// devices.gpus_per_model if devices.groups is not set.
int planned_ranks(const cluster::ClusterConfig& cluster);

/// Returns the machine for a plan: this machine, or a node with the GPUs that devices.gpu names. If
/// planned_ranks() ranks need several nodes, the plan assumes that all nodes are equal. The run
/// writes to the folder `output`. For this machine, the result has the free space of that folder.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster,
                                 const std::filesystem::path& output);

}  // namespace mgpu::app
