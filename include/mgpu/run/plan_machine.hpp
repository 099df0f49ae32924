#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::run {

/// The machine that a plan is for. Sizes are in bytes; 0 means unknown.
struct PlanMachine {
  std::string name;                 // host name of a node
  int ranks = 1;                    // ranks of the whole run
  int ranks_per_node = 1;           // most ranks on a node
  int cores = 0;                    // cores of a node; 0: unknown
  std::uint64_t host_bytes = 0;     // memory of a node that the run may use
  std::uint64_t program_bytes = 0;  // memory of a process right after it starts
  std::uint64_t disk_bytes = 0;     // free in the file system of the run directory
  DeviceKind device = DeviceKind::cpu;
  std::string gpu_name;          // "" on the CPU
  std::uint64_t gpu_bytes = 0;   // memory of each GPU
  double gpu_bytes_per_s = 0.0;  // bandwidth of the GPU memory
  double gpu_flops_16 = 0.0;     // peak FLOP/s with 16-bit values
  double gpu_flops_32 = 0.0;     // peak FLOP/s with 32-bit values
};

/// Returns a PlanMachine with the name, cores and memory of this host, the memory of this process,
/// and the free disk space at `output`. A lower memory limit of a cgroup replaces the host's memory
/// (see memory_limits()). The caller sets the ranks and the device.
PlanMachine inspect_host(const std::filesystem::path& output);

}  // namespace mgpu::run
