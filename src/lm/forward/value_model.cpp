#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/lm/forward/value_model.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/lm/weights/shared_folder.hpp>

#include "lm/weights/folder_source.hpp"
#include "row_ops.hpp"

namespace mgpu::lm {

ValueHead require_value_head(const fs::path& folder) {
  const std::optional<ValueHead> head = read_value_head(folder);
  if (head) return *head;
  throw Failure({"E702",
                 ExitCode::data,
                 "the folder has no value model: config.json names no architecture that ends with "
                 "ForTokenClassification",
                 {"  --> " + (folder / "config.json").string()},
                 "a folder that recipe `value` of job train wrote"});
}

ValueModel::ValueModel(const ValueHead& head, LmConfig config, LmWeights weights, Linear linear)
    : head_(head), linear_(std::move(linear)) {
  weights.head = {};  // otherwise LanguageModel would make a packed copy of a tied embedding
  const std::vector<std::int64_t> panels = panel_shape(linear_);
  if (panels.size() > 1) pack(linear_, at::empty(panels, linear_.weight.options()));
  backbone_ = std::make_unique<LanguageModel>(std::move(config), std::move(weights));
}

ValueModel ValueModel::open(const fs::path& folder, const LoadOptions& options) {
  const ValueHead head = require_value_head(folder);
  LmConfig config = read_lm_config(folder);
  config.tied_head = true;  // no lm_head is expected
  const formats::WeightFiles files(folder);
  const std::unique_ptr<CheckedSource> source = make_folder_source(files, config);
  LmWeights weights = bind_weights(config, *source);
  Linear linear;
  const std::array parts{&linear.weight, &linear.bias};
  const auto specs =
      head_specs(classifier_head(config, Classified::tokens, head.outputs), config.hidden_size);
  for (std::size_t i = 0; i < specs.size(); ++i)
    *parts.at(i) = source->take(specs[i].name, specs[i].shape);
  source->finish();
  weights.head = {};
  if (options.matrices == MatrixType::bf16)
    for (at::Tensor* matrix : matrices_of(weights))
      *matrix = matrix->to(at::kBFloat16);
  return {head, std::move(config), std::move(weights), std::move(linear)};
}

ValueModel ValueModel::open(const fs::path& folder, const cluster::Topology& topology,
                            const Options& options) {
  const cluster::Group& world = topology.world();
  const SharedFolder shared(folder, world, topology.node(), options.load, options.resident);
  ValueHead head;
  cluster::run_together(world, [&] { head = require_value_head(folder); });
  ClassifierWeights loaded = shared.load_classifier(
      classifier_head(shared.config(), Classified::tokens, head.outputs), options.device);
  LmConfig config = shared.config();
  config.tied_head = true;
  std::optional<ValueModel> model;
  cluster::run_together(world, [&] {
    model.emplace(ValueModel(head, std::move(config), std::move(loaded.decoder), loaded.head));
  });
  return std::move(*model);
}

at::Tensor ValueModel::outputs(const at::Tensor& hidden) const {
  return project(hidden, linear_);
}

}  // namespace mgpu::lm
