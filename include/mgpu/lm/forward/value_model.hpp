#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/lm/config/value_head.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

// Shapes in this header: N = tokens, D = width, O = number of outputs of the value head.
namespace mgpu::lm {

/// A model that predicts the return of a completion after each of its tokens. It is a decoder with
/// a linear layer (the value head) in place of the vocabulary head. Its folder has the format of a
/// transformers class such as LlamaForTokenClassification. Each rank holds the whole model.
class ValueModel {
public:
  struct Options {
    LoadOptions load{};
    Device device{};
    /// If `resident` is not nullptr, the ranks of a node share the copy of the weights that
    /// `resident` keeps. `resident` must outlive the ValueModel.
    ResidentModels* resident = nullptr;
  };

  /// Opens a folder on one rank, on the CPU.
  /// Errors: those of require_value_head(), read_lm_config(), WeightFiles and load_weights().
  static ValueModel open(const fs::path& folder, const LoadOptions& options = {});

  /// Opens a folder on all ranks. On each node, only one rank reads the weights, but every rank
  /// reads config.json.
  ///
  /// Ranks:  collective over the topology's world
  /// Errors: those of SharedFolder and require_value_head(), on every rank.
  static ValueModel open(const fs::path& folder, const cluster::Topology& topology,
                         const Options& options);

  /// Returns the model that computes hidden states. Its vocabulary head is undefined.
  const LanguageModel& backbone() const { return *backbone_; }
  const ValueHead& head() const { return head_; }

  /// Returns the outputs of the value head. On the CPU the bits of a row depend on that row only.
  ///
  /// Shapes: hidden [N, D] float32; returns [N, O] float32 on the same device
  at::Tensor outputs(const at::Tensor& hidden) const;

private:
  ValueModel(const ValueHead& head, LmConfig config, LmWeights weights, Linear linear);

  ValueHead head_;
  Linear linear_;                            // packed on the CPU
  std::unique_ptr<LanguageModel> backbone_;  // a pointer, so that a move of this object keeps the
                                             // model's address
};

/// Returns the head that `folder` describes. Errors: those of read_value_head(); Failure E702 (exit
/// 65) if the folder does not hold a ForTokenClassification model.
ValueHead require_value_head(const fs::path& folder);

}  // namespace mgpu::lm
