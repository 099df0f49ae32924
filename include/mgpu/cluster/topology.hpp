#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// The node on which a rank runs, and the index of the rank among the ranks of that node. These
/// numbers come from MPI. They do not come from SLURM_* variables, because under mpirun those
/// variables describe the launcher instead of the rank.
struct RankPlace {
  int node_index = 0;  // index of the node; nodes are ordered by their lowest rank
  int node_rank = 0;   // index of the rank among the ranks of its node, from 0
  std::string host;
};

/// Returns for each rank the index of its group. Consecutive ranks form groups. `sizes` are the
/// sizes of the groups, repeated cyclically.
///
/// Errors: Failure E121 (exit 78) when the ranks cannot be split into such groups; Error when
///         `sizes` is empty or has a size below 1.
std::vector<int> group_of_each_rank(int ranks, const std::vector<int>& sizes);

/// The communicators (Group) to which this rank belongs. Group world() has all ranks, and node()
/// has the ranks of this rank's node. Group model_group() has the ranks that share this rank's copy
/// of the model. Group across_groups() has the ranks with the same index in their model groups.
///
/// MGPU_RANKS_PER_NODE=k makes every k consecutive ranks act as one node (for tests).
///
/// Ranks:  the constructors are collective over `world`, which has to outlive this object.
/// Errors: Failure E121 (exit 78) when the ranks cannot be split into groups of the requested
///         sizes; E213 (exit 64) when MGPU_RANKS_PER_NODE is not a positive number.
class Topology {
public:
  Topology(const Group& world, int gpus_per_model);

  /// Makes groups of the given sizes, repeated cyclically: {1, 1, 2} on 8 ranks makes six groups.
  Topology(const Group& world, const std::vector<int>& group_sizes);

  const Group& world() const { return *world_; }
  const Group& node() const { return node_; }

  /// Returns this rank's model group: the consecutive ranks that together hold one copy of the
  /// model.
  const Group& model_group() const { return model_group_; }

  /// Returns the ranks that have the same index in their model group as this rank, in the order of
  /// the groups. If all groups have the same size, these ranks hold the same part of the model, and
  /// gradients are summed over them. For a leader (the first rank of a group), this is the set of
  /// all leaders.
  const Group& across_groups() const { return across_groups_; }

  int num_nodes() const { return num_nodes_; }
  int num_groups() const { return num_groups_; }
  int group_index() const { return group_index_; }
  bool is_leader() const { return model_group_.rank() == 0; }

  /// Returns the places of all ranks, by world rank.
  std::span<const RankPlace> places() const { return places_; }
  const RankPlace& place() const { return places_[static_cast<std::size_t>(world_->rank())]; }

private:
  struct Place;
  Topology(const Group& world, const Place& place);

  const Group* world_;
  int num_groups_;
  int group_index_;
  Group node_;
  Group model_group_;
  Group across_groups_;
  int num_nodes_ = 1;
  std::vector<RankPlace> places_;
};

}  // namespace mgpu::cluster
