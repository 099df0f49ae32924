#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/cluster/topology.hpp>
#include <mgpu/model/device_memory.hpp>
#include <mgpu/report/summary.hpp>

namespace mgpu::jobs {

/// The largest memory of one rank so far.
struct RankMemory {
  std::uint64_t host_bytes = 0;  // of its process
  model::DeviceMemory device;
};

/// Of every rank, on every rank.
///
/// Ranks:  collective.
std::vector<RankMemory> gather_memory(const cluster::Group& world, Device device);

/// Puts it where report::memory_lines() looks.
void show_memory(const std::vector<RankMemory>& ranks, const cluster::Topology& topology,
                 Device device, report::RunSummary& summary);

}  // namespace mgpu::jobs
