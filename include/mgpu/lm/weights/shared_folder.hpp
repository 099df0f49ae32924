#pragma once

#include <memory>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

namespace mgpu::lm {

/// The weights of a classifier: a decoder, and a linear layer on its hidden states.
struct ClassifierWeights {
  LmWeights decoder;
  Linear head;  // float32 on the device
};

/// A model folder that several ranks open together. If the constructor gets no `resident`, one rank
/// of each node reads the files, and broadcasts one tensor after the other to the other ranks of
/// the node. In this case, a rank that loads its shard holds at most one complete tensor of the
/// model in addition to the shard.
///
/// Ranks:  the constructor, load() and load_classifier() are collective over `all`; `node` contains
///         the ranks of `all` that are on this node. Both groups have to outlive this object.
/// Errors: those of read_lm_config(), WeightFiles and load_weights(), on every rank.
class SharedFolder {
public:
  /// If `resident` is not nullptr, weights are not broadcast. Instead, all ranks of the node use
  /// the copy that `resident` keeps. `resident` has to outlive this object.
  SharedFolder(fs::path folder, const cluster::Group& all, const cluster::Group& node,
               const LoadOptions& options = {}, ResidentModels* resident = nullptr);

  const LmConfig& config() const { return config_; }

  /// Returns the weights of one shard, in the types of LoadOptions and not packed for the CPU
  /// kernels. Each rank may pass a different shard.
  LmWeights load(const Shard& shard, Device device = {}) const;

  /// Returns all weights of a classifier, on every rank. `head` describes the layer that replaces
  /// the vocabulary head; a stored lm_head.weight is ignored.
  ClassifierWeights load_classifier(const ModelHead& head, Device device = {}) const;

private:
  class Request;
  void load_resident(Request& request, Device device) const;
  void load(Request& request, Device device) const;
  bool is_reader() const { return node_->rank() == 0; }

  fs::path folder_;
  const cluster::Group* all_;
  const cluster::Group* node_;
  LoadOptions options_;
  ResidentModels* resident_;
  LmConfig config_;
  std::unique_ptr<formats::WeightFiles> files_;  // nullptr: another rank reads, or resident_ is set
};

}  // namespace mgpu::lm
