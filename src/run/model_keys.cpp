#include <algorithm>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/run/model_keys.hpp>

namespace mgpu::run {

ModelKeys read_model_keys(const Config& config) {
  const cluster::ClusterConfig devices = cluster::read_cluster_config(config);
  return {.plan = lm::read_group_plan(config),
          .matrices = lm::read_matrix_type(config),
          .group_sizes = devices.group_sizes(),
          .has_groups = !devices.groups.empty()};
}

std::string groups_text(const ModelKeys& keys) {
  const std::vector<int>& sizes = keys.group_sizes;
  if (std::ranges::all_of(sizes, [](int size) { return size == 1; })) return "";
  std::string text;
  for (const int size : sizes)
    text += (text.empty() ? ", on " : ", ") + std::to_string(size);
  return text + (sizes.size() == 1 ? " ranks each (" : " ranks in turn (") +
         lm::name_of(keys.plan.split) + ")";
}

}  // namespace mgpu::run
