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
/// launched. Without mpirun it is the sum of the group sizes in devices.groups, or the value of
/// devices.gpus_per_model if devices.groups is not set.
int planned_ranks(const cluster::ClusterConfig& cluster);

/// Returns a description of one node for a plan: this machine, or a machine with the GPUs that
/// devices.gpu names. A plan assumes as many equal nodes as planned_ranks() ranks need.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster,
                                 const std::filesystem::path& output);

}  // namespace mgpu::app
