#include "node_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/run/session.hpp>

#include "plan_estimates.hpp"

namespace mgpu::jobs {
namespace {

std::uint64_t without_margin(std::uint64_t bytes, double margin) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * (1.0 - margin));
}

/// Returns the number of ranks on the node with the most ranks.
int most_ranks_of_a_node(const cluster::Topology& topology) {
  int most = 0;
  for (const cluster::RankPlace& place : topology.places())
    most = std::max(most, place.node_rank + 1);
  return most;
}

/// Returns the bytes of memory that a rank of the stage needs; 0 if the estimate fails.
std::uint64_t bytes_of_rank(Estimator& estimator, const Stage& stage, std::size_t index) {
  try {
    // A rank needs the most memory when the stage has the fewest ranks.
    return estimator.estimate(index, stage.sizes.front()).bytes;
  } catch (const std::exception&) {
    estimator.skip(index);  // the stage fails with this error when it runs
    return 0;
  }
}

/// Returns the indices of all stages in an order in which each stage comes after the stages that it
/// waits for. The stages must not form a cycle.
std::vector<std::size_t> in_order(const std::vector<Stage>& stages) {
  std::vector<std::size_t> order;
  std::vector<bool> is_placed(stages.size());
  while (order.size() < stages.size()) {
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const auto is_before = [&](std::size_t before) { return is_placed[before]; };
      if (is_placed[s] || !std::ranges::all_of(stages[s].after, is_before)) continue;
      is_placed[s] = true;
      order.push_back(s);
    }
  }
  return order;
}

/// Returns for each stage the bytes of memory that one of its ranks needs. Estimates only every
/// `step`-th stage, beginning with stage `first`, because the ranks of node 0 divide the stages
/// among themselves. The value of all other stages and of reused stages is 0.
std::vector<std::uint64_t> bytes_of_ranks(const std::vector<Stage>& stages, const StagePlace& place,
                                          const run::PlanMachine& machine, std::size_t first,
                                          std::size_t step) {
  const std::vector<StagePlan> plans = stage_plans(stages, place);
  Estimator estimator(stages, plans, place, machine);
  std::vector<std::uint64_t> bytes(stages.size());
  for (const std::size_t s : in_order(stages)) {
    if (!plans[s].earlier.empty()) continue;
    if (s % step == first)
      bytes[s] = bytes_of_rank(estimator, stages[s], s);
    else
      estimator.skip(s);
  }
  return bytes;
}

}  // namespace

NodeMemory memory_of_nodes(const run::RunContext& run, const std::vector<Stage>& stages,
                           const StagePlace& place) {
  const cluster::Topology& topology = run.topology;
  const int most = most_ranks_of_a_node(topology);
  if (run.device.kind == DeviceKind::cuda || most < 2) return {};
  run::PlanMachine machine = run::inspect_host(run.store.output_folder);
  machine.ranks = topology.world().size();
  machine.ranks_per_node = most;
  const std::vector<std::uint64_t> host = topology.world().all_gather(machine.host_bytes);
  NodeMemory memory;
  memory.bytes.resize(static_cast<std::size_t>(topology.num_nodes()));
  for (std::size_t rank = 0; rank < host.size(); ++rank) {
    const int node = topology.places()[rank].node_index;
    memory.node_of.push_back(node);
    memory.bytes[static_cast<std::size_t>(node)] =
        without_margin(host[rank], run.cluster.memory_margin);
  }
  if (topology.place().node_index != 0) return memory;
  std::vector<std::uint64_t> bytes;
  try {
    bytes = bytes_of_ranks(stages, place, machine, static_cast<std::size_t>(topology.node().rank()),
                           static_cast<std::size_t>(topology.node().size()));
  } catch (const std::exception& error) {  // for example, data of a stage are missing
    bytes.assign(stages.size(), 0);
    run.log.event({"warn",
                   {{"text", "stages may exceed the memory of a node, as it cannot be estimated: " +
                                 run::failure_text(report_of(error))}}});
  }
  topology.node().all_reduce(std::span<std::uint64_t>(bytes), cluster::ReduceOp::max);
  if (topology.world().rank() == 0)
    memory.of_rank = [bytes](std::size_t stage) { return bytes.at(stage); };
  return memory;
}

NodeMemory memory_of_nodes(const run::PlanMachine& machine, double margin) {
  if (machine.device == DeviceKind::cuda || machine.ranks_per_node < 2) return {};
  NodeMemory memory;
  for (int rank = 0; rank < machine.ranks; ++rank)
    memory.node_of.push_back(rank / machine.ranks_per_node);
  memory.bytes.assign(static_cast<std::size_t>(memory.node_of.back()) + 1,
                      without_margin(machine.host_bytes, margin));
  return memory;
}

}  // namespace mgpu::jobs
