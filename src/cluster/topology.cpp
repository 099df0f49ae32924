#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::cluster {
namespace {

/// Returns the environment variable MGPU_RANKS_PER_NODE, with which tests simulate several nodes; 0
/// if it is not set.
int ranks_per_node() {
  const char* text = std::getenv("MGPU_RANKS_PER_NODE");
  if (text == nullptr) return 0;
  const std::string_view digits(text);
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc{} && end == digits.data() + digits.size() && value > 0) return value;
  std::string sentence = "MGPU_RANKS_PER_NODE is '";
  sentence.append(digits).append("', not a number of ranks");
  throw Failure({"E213", ExitCode::usage, sentence, {}, "unset MGPU_RANKS_PER_NODE"});
}

Group split_nodes(const Group& world) {
  int per_node = 0;
  run_together(world, [&] { per_node = ranks_per_node(); });
  return per_node == 0 ? world.split_by_node() : world.split(world.rank() / per_node, world.rank());
}

/// Lists the sizes above 1 that divide `ranks`, each with the number of groups (workers) of this
/// size. Returns "2 gives 4 workers, 4 gives 2, 8 gives 1" for 8 ranks. For 1 rank, lists only size
/// 1.
std::string working_splits(int ranks) {
  std::string text;
  for (int per_model = ranks > 1 ? 2 : 1; per_model <= ranks; ++per_model) {
    if (ranks % per_model != 0) continue;
    if (!text.empty()) text += ", ";
    text.append(std::to_string(per_model)).append(" gives ");
    text += std::to_string(ranks / per_model);
    if (text.find("worker") == std::string::npos) {
      text += ranks == per_model ? " worker" : " workers";
    }
  }
  return text;
}

Failure cannot_split(int ranks, int gpus_per_model) {
  const int below = ranks / gpus_per_model * gpus_per_model;
  std::string other = below > 0 ? std::to_string(below) + " or " : "";
  other += std::to_string(below + gpus_per_model);
  return Failure({"E121",
                  ExitCode::config,
                  std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
                      " cannot be split into models of " + std::to_string(gpus_per_model) + " GPUs",
                  {},
                  "--gpus-per-model " + working_splits(ranks) + "; or start " + other + " ranks"});
}

Failure cannot_split(int ranks, const std::vector<int>& sizes) {
  const int sum = std::accumulate(sizes.begin(), sizes.end(), 0);
  if (sizes.size() == 1) return cannot_split(ranks, sum);
  std::string list;
  for (const int size : sizes)
    list.append(list.empty() ? "" : ", ").append(std::to_string(size));
  const int below = ranks / sum * sum;
  std::string other = below > 0 ? std::to_string(below) + " or " : "";
  other += std::to_string(below + sum);
  return Failure({"E121",
                  ExitCode::config,
                  std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
                      " cannot be split into groups of " + list,
                  {},
                  "start " + other + " ranks, or list other sizes in devices.groups"});
}

}  // namespace

std::vector<int> group_of_each_rank(int ranks, const std::vector<int>& sizes) {
  if (sizes.empty() || *std::ranges::min_element(sizes) < 1)
    throw Error("a model on less than one rank");
  if (ranks % std::accumulate(sizes.begin(), sizes.end(), 0) != 0) throw cannot_split(ranks, sizes);
  std::vector<int> groups;
  for (std::size_t group = 0; std::cmp_less(groups.size(), ranks); ++group)
    groups.insert(groups.end(), static_cast<std::size_t>(sizes[group % sizes.size()]),
                  static_cast<int>(group));
  return groups;
}

struct Topology::Place {
  int num_groups = 0;
  int group_index = 0;  // index of this rank's group
};

namespace {

std::vector<int> groups_of(const Group& world, const std::vector<int>& sizes) {
  std::vector<int> groups;
  run_together(world, [&] { groups = group_of_each_rank(world.size(), sizes); });
  return groups;
}

}  // namespace

Topology::Topology(const Group& world, int gpus_per_model)
    : Topology(world, std::vector<int>{gpus_per_model}) {}

Topology::Topology(const Group& world, const std::vector<int>& group_sizes)
    : Topology(world, [&] {
        const std::vector<int> groups = groups_of(world, group_sizes);
        return Place{groups.back() + 1, groups[static_cast<std::size_t>(world.rank())]};
      }()) {}

Topology::Topology(const Group& world, const Place& place)
    : world_(&world),
      num_groups_(place.num_groups),
      group_index_(place.group_index),
      node_(split_nodes(world)),
      model_group_(world.split(group_index_, world.rank())),
      across_groups_(world.split(model_group_.rank(), world.rank())) {
  const int first_of_node = node_.all_reduce(world.rank(), ReduceOp::min);
  const std::vector<std::int32_t> firsts = world.all_gather(first_of_node);
  const std::vector<std::int32_t> node_ranks = world.all_gather(node_.rank());
  const std::vector<std::string> hosts = world.all_gather(host_name());
  const std::set<std::int32_t> nodes(firsts.begin(), firsts.end());
  num_nodes_ = static_cast<int>(nodes.size());
  for (std::size_t r = 0; r < firsts.size(); ++r) {
    const auto index = std::distance(nodes.begin(), nodes.find(firsts[r]));
    places_.push_back({static_cast<int>(index), node_ranks[r], hosts[r]});
  }
}

}  // namespace mgpu::cluster
