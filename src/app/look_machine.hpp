#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/jobs/plan_machine.hpp>

namespace mgpu::app {

/// `folder`, or the nearest folder above it that exists.
std::filesystem::path existing_folder(const std::filesystem::path& folder);

/// Free bytes where `folder` is or would be; 0 where nobody knows.
std::uint64_t free_bytes(const std::filesystem::path& folder);

/// The machine as far as the host goes: name, cores, memory (a cgroup's limit where there is one),
/// this process, and the disk of `output`. Ranks and device are left to the caller.
jobs::PlanMachine look_at_host(const std::filesystem::path& output);

/// This machine, or as many like it as the ranks need: those of devices.world, else those that
/// mpirun launched, else one.
///
/// Errors: Failure E206 when there are GPUs but CUDA does not work.
jobs::PlanMachine look_at_machine(const cluster::ClusterConfig& cluster,
                                  const std::filesystem::path& output);

}  // namespace mgpu::app
