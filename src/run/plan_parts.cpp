#include <algorithm>
#include <cmath>
#include <utility>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/plan_parts.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::run {
namespace {

using report::Plan;

// The libraries libtorch, MPI and HDF5 take about this much memory for code and buffers that they
// load on first use.
constexpr std::uint64_t kFirstUse = std::uint64_t{40} << 20;

std::string machine_text(const PlanMachine& machine) {
  std::string text = machine.name;
  if (const int nodes = nodes_of(machine); nodes > 1)
    text = std::to_string(nodes) + " nodes like " + text;
  return machine.gpu_name.empty() ? text : text + ", " + machine.gpu_name;
}

}  // namespace

std::uint64_t whole_bytes(double bytes) {
  return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, 0x1p60));
}

Plan begin_plan(const Config& config, const PlanMachine& machine, std::string unit) {
  Plan plan;
  plan.name = store::read_store_config(config).run_name;
  plan.device = machine.device;
  plan.ranks = machine.ranks;
  plan.machine = machine_text(machine);
  plan.unit = std::move(unit);
  plan.card_bytes = machine.device == DeviceKind::cuda
                        ? machine.gpu_bytes
                        : machine.host_bytes / static_cast<std::uint64_t>(machine.ranks_per_node);
  return plan;
}

std::uint64_t program_bytes(const PlanMachine& machine) {
  return machine.program_bytes + kFirstUse;
}

int nodes_of(const PlanMachine& machine) {
  return (machine.ranks + machine.ranks_per_node - 1) / machine.ranks_per_node;
}

Plan::Share chunk_share(const ChunkPhase& phase, int part, int parts) {
  const auto chunks = pending_chunks(phase, {});
  const auto mine = static_share(chunks, part, parts);
  Plan::Share share;
  if (mine.empty()) return share;
  share.first = mine.front().first;
  share.count = mine.back().first + mine.back().count - share.first;
  return share;
}

std::uint64_t planned_bytes(const Plan& plan) {
  std::uint64_t sum = 0;
  for (const Plan::Memory& part : plan.memory)
    sum += part.bytes;
  return sum;
}

void add_limit(Plan& plan, const char* what, std::uint64_t need, std::uint64_t have,
               const char* key) {
  if (have == 0) return;
  plan.limits.push_back({what, static_cast<double>(need) / static_cast<double>(have),
                         report::bytes_text(need) + " of " + report::bytes_text(have), key});
}

std::uint64_t SharedMemory::headroom() const {
  return whole_bytes(allowed * static_cast<double>(have) / static_cast<double>(copies));
}

SharedMemory memory_of_ranks(const Config& config, const PlanMachine& machine, const char* key) {
  const bool on_gpu = machine.device == DeviceKind::cuda;
  const int ranks_here = std::min(machine.ranks, machine.ranks_per_node);
  return {on_gpu ? "GPU memory" : "memory of a node",
          on_gpu ? machine.gpu_bytes : machine.host_bytes,
          on_gpu ? 1 : static_cast<std::uint64_t>(ranks_here),
          1.0 - cluster::read_cluster_config(config).memory_margin, key};
}

void add_memory_limit(Plan& plan, const SharedMemory& memory, std::uint64_t need,
                      const std::function<std::string()>& fits) {
  const auto all = static_cast<double>(memory.copies) * static_cast<double>(need);
  add_limit(plan, memory.what, whole_bytes(all), memory.have, memory.key);
  if (memory.have == 0) return;
  Plan::Limit& limit = plan.limits.back();
  limit.allowed = memory.allowed;
  if (limit.used > limit.allowed) limit.fits = fits();
}

std::string fitting_rows(const SharedMemory& memory, std::int64_t rows,
                         const std::function<std::uint64_t(std::int64_t rows)>& bytes_of) {
  for (std::int64_t fewer = rows / 2; fewer > 0; fewer /= 2)
    if (bytes_of(fewer) <= memory.headroom())
      return std::string(memory.key) + "=" + std::to_string(fewer);
  return "";
}

std::uint64_t gradient_buffer_bytes(const train::BatchShape& batch, std::uint64_t weights,
                                    std::uint64_t bucket, int ranks) {
  const std::uint64_t piece = std::min(bucket, weights);
  if (!batch.layout) return piece;
  const std::int64_t local_lanes = std::max<std::int64_t>(1, batch.lanes / ranks);
  const auto levels = static_cast<std::uint64_t>(std::log2(static_cast<double>(local_lanes)));
  return levels * weights + piece;
}

void add_gradient_traffic(Plan& plan, const train::BatchShape& batch, std::uint64_t weights) {
  if (plan.ranks == 1) return;
  const double ranks = plan.ranks;
  const double share = batch.layout ? std::log2(ranks) : 2.0 * (ranks - 1.0) / ranks;
  Plan::Traffic& gradients = plan.traffic.emplace_back();
  gradients.link = "gradients, sent by each rank";
  gradients.bytes_per_step = whole_bytes(share * static_cast<double>(weights));
}

}  // namespace mgpu::run
