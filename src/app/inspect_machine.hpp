#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::app {

/// Returns the number of ranks to plan for. This is devices.world if it is set, else the number of
/// ranks that mpirun launched. Without devices.world and mpirun, the result is the sum of the group
/// sizes in devices.groups, or devices.gpus_per_model if devices.groups is not set.
int planned_ranks(const cluster::ClusterConfig& cluster);

/// Returns the machine that a plan assumes: a node with the GPUs that devices.gpu names, or this
/// machine if devices.gpu is not set. If planned_ranks() ranks need several nodes, the plan assumes
/// that all nodes are equal. `output` is the folder to which the run writes. Without devices.gpu,
/// the result contains the free space of `output`.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster,
                                 const std::filesystem::path& output);

}  // namespace mgpu::app
