#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::app {

/// The host's part of the machine: name, cores, memory (a cgroup's limit if there is one), this
/// process, and the disk of `output`. The caller adds ranks and device.
run::PlanMachine inspect_host(const std::filesystem::path& output);

/// The ranks of devices.world, else those that mpirun launched, else one.
int planned_ranks(const cluster::ClusterConfig& cluster);

/// This machine, or as many equal ones as the planned ranks need.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster,
                                 const std::filesystem::path& output);

}  // namespace mgpu::app
