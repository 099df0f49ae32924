#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/run/plan_machine.hpp>

namespace mgpu::app {

/// Returns the host's part of the machine: name, cores, memory (a cgroup's limit if there is one),
/// this process, and the disk of `output`. The caller adds ranks and device.
run::PlanMachine inspect_host(const std::filesystem::path& output);

/// Returns devices.world, else the number of ranks that mpirun launched, else 1.
int planned_ranks(const cluster::ClusterConfig& cluster);

/// Returns this machine, or as many equal ones as the planned ranks need.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster,
                                 const std::filesystem::path& output);

}  // namespace mgpu::app
