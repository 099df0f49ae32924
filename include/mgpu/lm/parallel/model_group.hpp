#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/lm/parallel/stage_times.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

namespace mgpu::lm {

class GroupPeers;

/// How a group of ranks holds a model: the keys model.parallel and model.device_map.
struct GroupPlan {
  Split split = Split::pipeline;
  LayerMap layers;
};

void add_model_group_keys(KeyTable& table);
GroupPlan read_group_plan(const Config& config);

/// Memory that this rank may fill. Ranks on the CPU share that of their node.
std::int64_t free_bytes(const cluster::Group& node, Device device);

/// The key model.dtype.
MatrixType read_matrix_type(const Config& config);

/// A model on the ranks of its group: whole where the group is one rank, in parts where it is
/// several. The Generator of model() and what else uses it work alike in both cases: on each rank
/// of the group with the same input; the leader's result is that of the group.
class ModelGroup {
public:
  struct Options {
    GroupPlan plan{};
    LoadOptions load{};
    cluster::Backend backend = cluster::Backend::mpi;
    Device device{};
    cluster::CommunicatorOptions wires{};
    ResidentModels* resident = nullptr;  // weights of folders that stay in memory; outlives it
  };

  /// Opens a folder; on each node one rank reads it, each file once.
  ///
  /// Ranks:  collective over the topology's world; groups may differ in size.
  /// Errors: as SharedFolder, place_layers and tensor_shards, on every rank.
  static ModelGroup open(const fs::path& folder, const cluster::Topology& topology,
                         const Options& options);

  ModelGroup(ModelGroup&&) noexcept;
  ModelGroup& operator=(ModelGroup&&) = delete;
  ModelGroup(const ModelGroup&) = delete;
  ModelGroup& operator=(const ModelGroup&) = delete;

  /// Ranks: collective over the group unless an exception unwinds.
  ~ModelGroup();

  const LanguageModel& model() const { return *model_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_leader() const { return rank_ == 0; }

  /// Rank of each layer; empty where layers are not shared out.
  const std::vector<int>& layer_ranks() const { return layer_ranks_; }

  /// Begins to count anew what times() tells.
  void start_clock();
  /// Work and waiting of this rank; nothing in a group of one rank.
  StageTimes times() const;

private:
  ModelGroup() = default;

  int rank_ = 0;
  int size_ = 1;
  std::vector<int> layer_ranks_;
  std::unique_ptr<GroupPeers> peers_;  // nullptr: the model is whole
  std::unique_ptr<LanguageModel> model_;
};

}  // namespace mgpu::lm
