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
/// launched. Without mpirun it is the sum of the group sizes in devices.groups, or
/// devices.gpus_per_model if that key is not set.
int planned_ranks(const cluster::ClusterConfig& cluster);

/// Returns a description of this machine, or of machines with the GPUs that devices.gpu names. All
/// machines are assumed to be equal, and as many as the planned ranks need.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster,
                                 const std::filesystem::path& output);

}  // namespace mgpu::app
