#include "inspect_machine.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <thread>

#include <unistd.h>

#include <mgpu/cluster/gpu_cards.hpp>

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number > 0 ? number : otherwise;
}

void use_gpus(const cluster::ClusterConfig& cluster, run::PlanMachine& machine) {
  const std::vector<cluster::GpuInfo> gpus = cluster::visible_gpus().gpus;
  if (gpus.empty() && !cluster.gpus && cluster.backend != cluster::Backend::nccl) return;
  machine.device = DeviceKind::cuda;
  machine.gpu_name = gpus.empty() ? "GPUs (none on this machine)" : gpus.front().name;
  if (!gpus.empty()) machine.gpu_bytes = gpus.front().memory_bytes;
  const std::size_t each = cluster.gpus ? cluster.gpus->size() : gpus.size();
  if (each > 0) machine.ranks_per_node = static_cast<int>(each);
}

/// Returns a machine with planned_ranks() ranks and GPUs of the type `cluster.card`, which the key
/// devices.gpu names. The cores, memory and disk of the machine stay 0, which means unknown.
run::PlanMachine planned_machine(const cluster::ClusterConfig& cluster) {
  constexpr int kGpusOfANode = 8;
  const cluster::GpuCard& card = *cluster.card;
  run::PlanMachine machine;
  machine.device = DeviceKind::cuda;
  machine.ranks = planned_ranks(cluster);
  const int each = cluster.gpus ? static_cast<int>(cluster.gpus->size()) : kGpusOfANode;
  machine.ranks_per_node = std::min(machine.ranks, each);
  machine.name = "a node of " + std::to_string(machine.ranks_per_node);
  machine.gpu_name = card.name;
  machine.gpu_bytes = card.bytes;
  machine.gpu_bytes_per_s = card.bytes_per_s;
  machine.gpu_flops_16 = card.flops_16;
  machine.gpu_flops_32 = card.flops_32;
  return machine;
}

}  // namespace

int planned_ranks(const cluster::ClusterConfig& cluster) {
  const std::vector<int> sizes = cluster.group_sizes();
  const int one_of_each = std::accumulate(sizes.begin(), sizes.end(), 0);
  return cluster.world.value_or(number_of("OMPI_COMM_WORLD_SIZE", one_of_each));
}

run::PlanMachine inspect_machine(const cluster::ClusterConfig& cluster, const fs::path& output) {
  if (cluster.card != nullptr) return planned_machine(cluster);
  run::PlanMachine machine = run::inspect_host(output);
  machine.ranks = planned_ranks(cluster);
  machine.ranks_per_node = machine.ranks;
  if (cluster.backend != cluster::Backend::mpi) use_gpus(cluster, machine);
  if (!cluster.world) {
    machine.ranks_per_node = number_of("OMPI_COMM_WORLD_LOCAL_SIZE", machine.ranks_per_node);
  }
  machine.ranks_per_node = std::min(machine.ranks_per_node, machine.ranks);
  return machine;
}

}  // namespace mgpu::app
