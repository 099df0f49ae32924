#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/tensor/parameter_arena.hpp>

namespace mgpu::lm {

/// An additional linear layer on the hidden states, for values, rewards or classes. Its parameters
/// are "NAME.weight" [outputs, hidden size] and "NAME.bias" [outputs]. They have these names in the
/// ParameterArena, in checkpoints and in exported folders.
struct ModelHead {
  std::string name = "score";  // as in most classifiers of transformers
  std::int64_t outputs = 1;
  bool has_bias = false;  // true in ForTokenClassification of transformers

  /// If true, the model has no vocabulary head, as in folders of ForSequenceClassification. In this
  /// case, TrainableModel throws Error for a loss that needs logits. LmConfig::tied_head is true in
  /// TrainableModel::config(), so that the weights need no lm_head.weight.
  bool replaces_vocabulary = false;
};

/// Returns names, shapes and initial values of the head's parameters. The weight is random with
/// standard deviation 0.02, and the bias is 0. `width` is the model's hidden size.
/// Errors: ShapeError when the head has no outputs.
std::vector<tensor::ParameterSpec> head_specs(const ModelHead& head, std::int64_t width);

}  // namespace mgpu::lm
