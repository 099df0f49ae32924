#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/cluster/topology.hpp>
#include <mgpu/report/summary.hpp>
#include <mgpu/tensor/device_memory.hpp>

namespace mgpu::run {

/// The peak memory of one rank so far.
struct RankMemory {
  std::uint64_t host_bytes = 0;  // peak host memory of the rank's process
  tensor::DeviceMemory device;
};

/// Returns the peak memory so far of every rank, on every rank.
///
/// Ranks:  collective over `world`.
std::vector<RankMemory> gather_memory(const cluster::Group& world, Device device);

/// Stores the peak memory of `ranks`, the kind of device and the number of nodes in `summary`, for
/// report::memory_lines().
void fill_memory(const std::vector<RankMemory>& ranks, const cluster::Topology& topology,
                 Device device, report::RunSummary& summary);

}  // namespace mgpu::run
