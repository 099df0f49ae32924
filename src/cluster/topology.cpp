#include <charconv>
#include <cstdlib>
#include <set>
#include <string_view>

#include <mgpu/base/machine.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::cluster {
namespace {

/// 0 without the variable.
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

/// "2 gives 4 workers, 4 gives 2, 8 gives 1".
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

Group split_models(const Group& world, int gpus_per_model) {
  run_together(world, [&] {
    if (gpus_per_model < 1) throw Error("gpus_per_model is below 1");
    if (world.size() % gpus_per_model != 0) throw cannot_split(world.size(), gpus_per_model);
  });
  return world.split(world.rank() / gpus_per_model, world.rank());
}

}  // namespace

Topology::Topology(const Group& world, int gpus_per_model)
    : world_(&world),
      node_(split_nodes(world)),
      model_group_(split_models(world, gpus_per_model)),
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
