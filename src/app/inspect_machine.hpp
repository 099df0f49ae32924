#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::app {

/// Returns a PlanMachine with the facts of this host. They are its name, cores, memory (a cgroup's
/// limit if there is one), memory of this process, and free disk space at `output`. The caller
/// fills in ranks and device.
run::PlanMachine inspect_host(const std::filesystem::path& output);

/// Returns the number of ranks to plan for: devices.world if it is set, else the number that mpirun
/// launched. Without mpirun it is the number that one group of each size in devices.groups needs.
int planned_ranks(const cluster::ClusterConfig& cluster);

/// Describes this machine, and assumes as many equal machines as the planned ranks need.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster,
                                 const std::filesystem::path& output);

}  // namespace mgpu::app
