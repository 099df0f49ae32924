#pragma once

#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

namespace mgpu::run {

/// How the ranks of a run share a language model: the values of model.parallel, model.device_map
/// and model.dtype, and the group sizes (devices.gpus_per_model or devices.groups).
struct ModelKeys {
  lm::GroupPlan plan{};
  lm::MatrixType matrices = lm::MatrixType::f32;
  std::vector<int> group_sizes = {1};  // number of ranks of each group; repeated cyclically
  bool has_groups = false;             // whether devices.groups gives the sizes

  /// Returns the number of ranks that share each sum of a matrix product. Rounding depends on this
  /// number. It is 1 for a pipeline, because each rank of a pipeline holds whole layers.
  int summing_ranks() const { return plan.split == lm::Split::pipeline ? 1 : group_sizes.front(); }
};

ModelKeys read_model_keys(const Config& config);

/// Formats ", on 2 ranks each (pipeline)", or for groups of several sizes ", on 2, 4 ranks in turn
/// (pipeline)"; "" when each group is one rank.
std::string groups_text(const ModelKeys& keys);

}  // namespace mgpu::run
