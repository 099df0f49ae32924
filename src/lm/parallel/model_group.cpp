#include <utility>

#include <mgpu/base/process_memory.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/lm/weights/shared_folder.hpp>
#include <mgpu/tensor/device_memory.hpp>

#include "device_map.hpp"
#include "group_peers.hpp"

namespace mgpu::lm {

std::int64_t free_bytes(const cluster::Group& node, Device device) {
  if (device.kind == DeviceKind::cuda) {
    const tensor::DeviceMemory memory = tensor::device_memory(device);
    return static_cast<std::int64_t>(memory.total - memory.reserved);
  }
  return static_cast<std::int64_t>(host_free_bytes()) / node.size();
}

void add_model_group_keys(KeyTable& table) {
  table.add(
      {.name = "model.parallel",
       .type = KeyType::choice,
       .default_value = "pipeline",
       .summary = "what the ranks of devices.gpus_per_model divide: layers, or heads and columns",
       .choices = {"pipeline", "tensor"}});
  table.add(
      {.name = "model.device_map",
       .type = KeyType::integers,
       .default_value = "balanced",
       .summary = "layers of a pipeline: equal work, by free memory (auto), or a rank per layer",
       .min = 0,
       .max = 65535,
       .choices = {"balanced", "auto"},
       .identity = false,
       .list_of_mapping = ranks_of_device_map});
  table.add(
      {.name = "model.dtype",
       .type = KeyType::choice,
       .default_value = "float32",
       .summary = "type of matrices and of what they are multiplied with; all else is float32",
       .choices = {"float32", "bfloat16"}});
}

GroupPlan read_group_plan(const Config& config) {
  GroupPlan plan;
  plan.split =
      config.is("model.parallel", name_of(Split::tensor)) ? Split::tensor : Split::pipeline;
  if (config.is("model.device_map", "balanced")) return plan;
  if (plan.split == Split::tensor) {
    throw config.problem("E124", "model.device_map",
                         "model.device_map places layers, and model.parallel=tensor has all layers "
                         "on each rank",
                         "remove it, or set model.parallel=pipeline");
  }
  if (config.is("model.device_map", "auto")) {
    plan.layers.kind = LayerMap::Kind::by_memory;
  } else {
    plan.layers = {LayerMap::Kind::manual, config.integers("model.device_map")};
  }
  return plan;
}

MatrixType read_matrix_type(const Config& config) {
  return config.text("model.dtype") == "bfloat16" ? MatrixType::bf16 : MatrixType::f32;
}

ModelGroup ModelGroup::open(const fs::path& folder, const cluster::Topology& topology,
                            const Options& options) {
  const cluster::Group& ranks = topology.model_group();
  const SharedFolder shared(folder, topology.world(), topology.node(), options.load,
                            options.resident);
  const std::vector<std::int64_t> free =
      ranks.all_gather(free_bytes(topology.node(), options.device));
  ModelGroup group;
  group.rank_ = ranks.rank();
  group.size_ = ranks.size();
  Shard shard = whole_model(shared.config());
  cluster::run_together(topology.world(), [&] {
    if (group.size_ == 1) return;
    std::vector<Shard> shards;
    if (options.plan.split == Split::pipeline) {
      group.layer_ranks_ = place_layers(shared.config(), options.plan.layers, free);
      shards = pipeline_shards(shared.config(), group.layer_ranks_);
    } else {
      shards = tensor_shards(shared.config(), group.size_);
    }
    shard = shards[static_cast<std::size_t>(group.rank_)];
  });
  LmWeights weights = shared.load(shard, options.device);
  if (group.size_ > 1) {
    group.peers_ = std::make_unique<GroupPeers>(
        ranks, options.plan.split,
        GroupPeers::ChannelOptions{options.backend, options.device, options.communicator});
  }
  cluster::run_together(topology.world(), [&] {
    group.model_ = group.size_ == 1
                       ? std::make_unique<LanguageModel>(shared.config(), std::move(weights))
                       : std::make_unique<LanguageModel>(shared.config(), std::move(weights), shard,
                                                         *group.peers_);
  });
  group.start_clock();
  return group;
}

ModelGroup::ModelGroup(ModelGroup&&) noexcept = default;
ModelGroup::~ModelGroup() = default;

void ModelGroup::start_clock() {
  if (peers_) peers_->clock().start();
}

StageTimes ModelGroup::times() const {
  return peers_ ? peers_->clock().times() : StageTimes{};
}

}  // namespace mgpu::lm
