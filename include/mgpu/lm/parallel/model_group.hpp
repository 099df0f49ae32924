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

/// How a model is split over a group of ranks. read_group_plan() reads it from the keys
/// model.parallel and model.device_map.
struct GroupPlan {
  Split split = Split::pipeline;
  LayerMap layers;
};

/// Adds the keys model.parallel, model.device_map and model.dtype to `table`.
void add_model_group_keys(KeyTable& table);
/// Reads the keys model.parallel and model.device_map. Errors: Failure E124 (exit 78) if
/// model.parallel is `tensor`, and model.device_map is not `balanced`.
GroupPlan read_group_plan(const Config& config);

/// Returns the free memory, in bytes, that this rank may use on `device`. On a GPU, this is the
/// capacity minus the peak of the memory that libtorch has reserved in this process. On the CPU,
/// this is the free memory of the node, divided by the number of ranks on the node. `node`
/// contains all ranks on this node.
std::int64_t free_bytes(const cluster::Group& node, Device device);

/// Reads the key model.dtype.
MatrixType read_matrix_type(const Config& config);

/// A model on the ranks of a group. A group of one rank holds the complete model; otherwise each
/// rank holds a shard. Code that uses model(), such as the Generator, need not distinguish the two
/// cases. It has to make the same calls with the same input on each rank of the group. The result
/// on the leader (rank 0 of the group) is the result of the group.
class ModelGroup {
public:
  struct Options {
    GroupPlan plan{};
    LoadOptions load{};
    cluster::Backend backend = cluster::Backend::mpi;
    Device device{};
    cluster::CommunicatorOptions communicator{};
    /// Keeps weights in the memory of the node, and has to outlive the ModelGroup. nullptr: each
    /// open() reads the files.
    ResidentModels* resident = nullptr;
  };

  /// Opens a model folder. On each node, only one rank reads the files. With Options::resident,
  /// weights that the node already has in memory are not read again.
  ///
  /// Ranks:  collective over the topology's world; groups may have different sizes.
  /// Errors: those of SharedFolder, place_layers(), tensor_shards() and
  ///         cluster::make_communicator(), on every rank.
  static ModelGroup open(const fs::path& folder, const cluster::Topology& topology,
                         const Options& options);

  ModelGroup(ModelGroup&&) noexcept;
  ModelGroup& operator=(ModelGroup&&) = delete;
  ModelGroup(const ModelGroup&) = delete;
  ModelGroup& operator=(const ModelGroup&) = delete;

  /// Destroys the model and the communicators of its group.
  /// Ranks:  collective over the group unless an exception is unwinding the stack.
  ~ModelGroup();

  const LanguageModel& model() const { return *model_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_leader() const { return rank_ == 0; }

  /// Returns the rank of each layer; empty if the group has one rank or uses tensor parallelism.
  const std::vector<int>& layer_ranks() const { return layer_ranks_; }

  /// Sets the times of this rank to zero (see times()).
  void start_clock();
  /// Returns how long this rank has worked and waited since the last start_clock(), or since open()
  /// if start_clock() was never called. All times are zero in a group of one rank.
  StageTimes times() const;

private:
  ModelGroup() = default;

  int rank_ = 0;
  int size_ = 1;
  std::vector<int> layer_ranks_;
  std::unique_ptr<GroupPeers> peers_;  // nullptr: the group has one rank
  std::unique_ptr<LanguageModel> model_;
};

}  // namespace mgpu::lm
