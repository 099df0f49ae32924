#pragma once

#include <memory>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

namespace mgpu::lm {

/// A model folder that ranks open together: on each node one of them reads it, each file once, and
/// the others have it from that one. What a rank does not keep is there one tensor at a time.
///
/// Ranks:  all calls are collective over `all`; `node` are those of them that are on this node.
///         Both outlive this object.
/// Errors: those of read_lm_config, WeightFiles and load_weights, on every rank.
class SharedFolder {
public:
  /// With `resident`, which outlives this object, the weights are those of its copy.
  SharedFolder(fs::path folder, const cluster::Group& all, const cluster::Group& node,
               const LoadOptions& options = {}, ResidentModels* resident = nullptr);

  const LmConfig& config() const { return config_; }

  /// The shard's part of the weights, of the types of LoadOptions, not packed; shards may differ
  /// between ranks.
  LmWeights load(const Shard& shard, Device device = {}) const;

private:
  LmWeights load_resident(const Shard& shard, Device device) const;
  bool is_reader() const { return node_->rank() == 0; }

  fs::path folder_;
  const cluster::Group* all_;
  const cluster::Group* node_;
  LoadOptions options_;
  ResidentModels* resident_;
  LmConfig config_;
  std::unique_ptr<formats::WeightFiles>
      files_;  // nullptr where another rank reads, or with resident_
};

}  // namespace mgpu::lm
