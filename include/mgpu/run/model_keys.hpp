#pragma once

#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

namespace mgpu::run {

/// How the ranks of a run hold a language model: the keys model.parallel, model.device_map,
/// model.dtype, and the sizes of groups.
struct ModelKeys {
  lm::GroupPlan plan{};
  lm::MatrixType matrices = lm::MatrixType::f32;
  std::vector<int> group_sizes = {1};  // size of each group in order, repeated cyclically
  bool has_groups = false;             // whether devices.groups gives the sizes

  /// Returns how many ranks add up each sum of the model. The rounding of the sums depends on this
  /// number. It is 1 for a pipeline, whose ranks each hold whole layers.
  int summing_ranks() const { return plan.split == lm::Split::pipeline ? 1 : group_sizes.front(); }
};

ModelKeys read_model_keys(const Config& config);

/// Formats ", on 2 ranks each (pipeline)"; "" when one rank holds the whole model.
std::string groups_text(const ModelKeys& keys);

}  // namespace mgpu::run
