#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/config/config.hpp>

namespace mgpu::cluster {

struct GpuCard;

/// The values of the keys devices.* and comm.*.
struct ClusterConfig {
  std::optional<std::vector<int>> gpus;  // GPUs to use on each node, as ordinals among the visible
                                         // ones; nullopt: all
  std::optional<int> world;              // number of ranks that --plan assumes, and --check if it
                                         // runs on one rank; nullopt: the number of ranks that
                                         // mpirun started; without mpirun, the sum of group_sizes()
  const GpuCard* card = nullptr;         // GPU that --plan and --check assume; nullptr: the GPU of
                                         // this machine
  int gpus_per_model = 1;                // ranks that share one copy of the model
  std::vector<int> groups;               // sizes of the model groups, see Topology; empty: every
                                         // group has gpus_per_model ranks
  std::optional<Backend> backend;        // nullopt (`auto`): plan_devices() chooses it
  int threads = 1;                       // compute threads of a rank
  double memory_margin = 0.08;           // share of the memory of a GPU or node that stays free
  std::int64_t clear_cache_every = 0;  // steps between two frees of libtorch's GPU cache; 0: never
  double timeout_s = 300.0;            // longest time that a collective may take
  std::int64_t bucket_mb = 25;         // MiB of gradients that are summed over ranks at a time

  std::vector<int> group_sizes() const {
    return groups.empty() ? std::vector<int>{gpus_per_model} : groups;
  }
};

void add_cluster_keys(KeyTable& table);

/// Returns the values of the keys devices.* and comm.*.
/// Errors: Failure E204 (exit 78) when devices.gpus is an empty list; E124 when devices.groups is
///         set and devices.gpus_per_model is not 1, or when devices.gpu is set and devices.backend
///         is `mpi`; those of Config's getters.
ClusterConfig read_cluster_config(const Config& config);

/// These functions return the values of devices.gpus_per_model and devices.groups. They serve
/// checks that must also work when other keys of devices.* have wrong values.
int read_gpus_per_model(const Config& config);
std::vector<int> read_groups(const Config& config);

}  // namespace mgpu::cluster
