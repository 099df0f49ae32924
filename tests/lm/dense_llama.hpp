#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <gtest/gtest.h>

#include <mgpu/lm/training/trainable_model.hpp>

// Implements a Llama without rotation in plain operations of libtorch, for autograd in float64.
// Shapes: L tokens, D width, V vocabulary.
namespace mgpu::lm {

inline constexpr std::int64_t kTwoBlocks = 4100;  // a vocabulary of two blocks

/// Returns a config with two layers and grouped-query attention.
inline LmConfig dense_config(std::int64_t vocab) {
  LmConfig config;
  config.family = "llama";
  config.vocab = vocab;
  config.hidden_size = 8;
  config.intermediate_size = 12;
  config.heads = 2;
  config.kv_heads = 1;
  config.head_dim = 4;
  config.max_positions = 64;
  config.layers.assign(2, {0, 0.5});
  config.rope.kind = RopeKind::none;
  return config;
}

/// Returns a model with weights large enough that all parts of the model matter.
inline TrainableModel dense_model(const TrainingOptions& options, std::int64_t vocab = kTwoBlocks) {
  TrainableModel model(dense_config(vocab), Device{}, 3, options);
  for (std::size_t p = 0; p < model.parameters().size(); ++p)
    if (model.parameters().spec(p).init_std > 0.0)
      model.parameters().parameter(p).detach().mul_(20.0);
  return model;
}

class DenseLlama {
public:
  /// Copies the weights.
  explicit DenseLlama(const TrainableModel& model) : config_(model.config()) {
    const tensor::ParameterArena& arena = model.parameters();
    for (std::size_t p = 0; p < arena.size(); ++p) {
      names_.push_back(arena.spec(p).name);
      leaves_.push_back(arena.parameter(p).detach().to(at::kDouble).clone().requires_grad_(true));
    }
  }

  const at::Tensor& weight(const std::string& name) const {
    for (std::size_t p = 0; p < names_.size(); ++p)
      if (names_[p] == name) return leaves_[p];
    throw Error("no weight " + name);
  }

  /// Returns hidden states after the last norm, [L, D].
  at::Tensor hidden(const std::vector<std::int64_t>& ids) const {
    at::Tensor x = weight("model.embed_tokens.weight").index_select(0, at::tensor(ids, at::kLong));
    for (std::size_t i = 0; i < config_.layers.size(); ++i)
      x = layer("model.layers." + std::to_string(i) + ".", x);
    return norm(x, "model.norm.weight");
  }

  /// Returns the log-probabilities of ids[1..], [L - 1].
  at::Tensor log_probs(const std::vector<std::int64_t>& ids, double temperature = 1.0) const {
    const at::Tensor logits = hidden(ids).matmul(weight("lm_head.weight").t()) / temperature;
    const at::Tensor next = at::tensor(std::vector<std::int64_t>(ids.begin() + 1, ids.end()));
    return logits.narrow(0, 0, next.size(0)).log_softmax(1).gather(1, next.unsqueeze(1)).squeeze(1);
  }

  /// Returns the gradients of a loss with respect to the copied weights, in the arena's order. A
  /// gradient is zeros if the loss does not depend on its weight.
  std::vector<at::Tensor> gradients(const at::Tensor& loss) const {
    std::vector<at::Tensor> grads =
        torch::autograd::grad({loss}, leaves_, {}, std::nullopt, false, /*allow_unused=*/true);
    for (std::size_t p = 0; p < grads.size(); ++p)
      if (!grads[p].defined()) grads[p] = at::zeros_like(leaves_[p]);
    return grads;
  }

private:
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    return x * ((x * x).mean(-1, true) + config_.norm_epsilon).rsqrt() * weight(name);
  }

  at::Tensor project(const at::Tensor& x, const std::string& name) const {
    return x.matmul(weight(name + ".weight").t());
  }

  at::Tensor layer(const std::string& name, const at::Tensor& x) const {
    const std::int64_t count = x.size(0);
    const auto heads = [&](const char* part, std::int64_t number) {
      return project(norm(x, name + "input_layernorm.weight"), name + "self_attn." + part)
          .view({count, number, config_.head_dim})
          .transpose(0, 1);
    };
    const at::Tensor scores =
        heads("q_proj", config_.heads).matmul(heads("k_proj", 1).transpose(1, 2)) * 0.5;
    const at::Tensor later = at::ones({count, count}, at::kBool).triu(1);
    const at::Tensor mixed = scores.masked_fill(later, -INFINITY)
                                 .softmax(-1)
                                 .matmul(heads("v_proj", 1))
                                 .transpose(0, 1)
                                 .reshape({count, -1});
    const at::Tensor middle = x + project(mixed, name + "self_attn.o_proj");
    const at::Tensor inner = norm(middle, name + "post_attention_layernorm.weight");
    const at::Tensor gate = project(inner, name + "mlp.gate_proj");
    return middle + project(gate * gate.sigmoid() * project(inner, name + "mlp.up_proj"),
                            name + "mlp.down_proj");
  }

  LmConfig config_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> leaves_;
};

/// Compares the gradients of the arena with those of DenseLlama.
inline void expect_gradients(const TrainableModel& model, const std::vector<at::Tensor>& expected) {
  for (std::size_t p = 0; p < expected.size(); ++p) {
    const double scale = expected[p].abs().max().item<double>();
    const double difference =
        (model.parameters().gradient(p) - expected[p]).abs().max().item<double>();
    EXPECT_LE(difference, 1e-10 * std::max(scale, 1e-3)) << model.parameters().spec(p).name;
  }
}

}  // namespace mgpu::lm
