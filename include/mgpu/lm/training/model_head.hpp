#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/tensor/parameter_arena.hpp>

namespace mgpu::lm {

/// A linear layer on the hidden states that a model has beside its vocabulary: a value, a reward, a
/// class. Its parameters are "NAME.weight" [outputs, D] and "NAME.bias" [outputs], in the arena, in
/// checkpoints and in exported folders.
struct ModelHead {
  std::string name = "score";  // that of ForSequenceClassification and ForTokenClassification
  std::int64_t outputs = 1;
  bool has_bias = false;  // transformers: ForTokenClassification has one

  /// The model has no other head: a folder of ForSequenceClassification or ForTokenClassification.
  /// Such a model has no logits; TrainableModel::config() says that its head is the embedding.
  bool replaces_vocabulary = false;
};

/// Names and shapes of its parameters: the weight has standard deviation 0.02, the bias is 0.
std::vector<tensor::ParameterSpec> head_specs(const ModelHead& head, std::int64_t width);

}  // namespace mgpu::lm
