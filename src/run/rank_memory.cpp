#include <mgpu/base/process_memory.hpp>
#include <mgpu/run/rank_memory.hpp>

namespace mgpu::run {

std::vector<RankMemory> gather_memory(const cluster::Group& world, Device device) {
  const tensor::DeviceMemory mine = tensor::device_memory(device);
  const auto host = world.all_gather(host_peak_bytes());
  const auto allocated = world.all_gather(mine.allocated);
  const auto reserved = world.all_gather(mine.reserved);
  const auto total = world.all_gather(mine.total);
  std::vector<RankMemory> ranks;
  for (std::size_t r = 0; r < host.size(); ++r)
    ranks.push_back({host[r], {allocated[r], reserved[r], total[r]}});
  return ranks;
}

void fill_memory(const std::vector<RankMemory>& ranks, const cluster::Topology& topology,
                 Device device, report::RunSummary& summary) {
  summary.device = device.kind;
  summary.nodes = topology.num_nodes();
  summary.gpus.clear();
  summary.host_peak_bytes.clear();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    summary.host_peak_bytes.push_back(ranks[r].host_bytes);
    if (device.kind == DeviceKind::cpu) continue;
    const tensor::DeviceMemory& gpu = ranks[r].device;
    summary.gpus.push_back(
        {static_cast<int>(r), topology.places()[r].host, gpu.allocated, gpu.reserved, gpu.total});
  }
}

}  // namespace mgpu::run
