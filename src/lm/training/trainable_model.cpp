#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/tensor/read_back.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "grad_experts.hpp"
#include "grad_head.hpp"
#include "grad_ops.hpp"
#include "lm/forward/sequence_spans.hpp"
#include "lm/weights/folder_source.hpp"
#include "pass_rows.hpp"
#include "token_values.hpp"

namespace mgpu::lm {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kInitStd = 0.02;  // initializer_range of transformers

/// Returns `config`, with `tied_head` set if `head` replaces the vocabulary head. A model with such
/// a head has no lm_head.weight, like a model with a tied head.
LmConfig trained_config(LmConfig config, const std::optional<ModelHead>& head) {
  if (head && head->replaces_vocabulary) config.tied_head = true;
  return config;
}

class ArenaSource : public WeightSource {
public:
  explicit ArenaSource(const tensor::ParameterArena& arena) : arena_(arena) {}
  at::Tensor take(const std::string& name, const std::vector<std::int64_t>& /*shape*/) override {
    return arena_.parameter(name);
  }

private:
  const tensor::ParameterArena& arena_;
};

using LayerCall = std::function<at::Tensor(const at::Tensor& x)>;

/// Implements activation checkpointing, which stores only the input of a layer, and recomputes the
/// layer in the backward pass. `layer` has to live until the backward pass ends.
///
/// Source: Chen et al., arXiv 1604.06174.
struct CheckpointFunction : torch::autograd::Function<CheckpointFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const LayerCall* layer) {
    ctx->save_for_backward({x});
    ctx->saved_data["layer"] = reinterpret_cast<std::intptr_t>(layer);
    return (*layer)(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto* layer = reinterpret_cast<const LayerCall*>(ctx->saved_data["layer"].toInt());
    const at::AutoGradMode with_gradients(true);
    const at::Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_(true);
    torch::autograd::backward({(*layer)(x)}, {grads[0]});
    return {x.grad(), {}};
  }
};

}  // namespace

std::vector<tensor::ParameterSpec> trained_specs(const LmConfig& config,
                                                 const std::optional<ModelHead>& head) {
  std::vector<tensor::ParameterSpec> specs = weight_specs(trained_config(config, head));
  for (tensor::ParameterSpec& spec : specs) {
    const bool is_norm = spec.shape.size() == 1 && spec.name.ends_with(".weight");
    const bool is_matrix = spec.shape.size() > 1 && !spec.name.ends_with("bias");
    spec.init_value = is_norm ? 1.0 : 0.0;
    spec.init_std = is_matrix ? kInitStd : 0.0;
  }
  if (!head) return specs;
  for (tensor::ParameterSpec& spec : head_specs(*head, config.hidden_size))
    specs.push_back(std::move(spec));
  return specs;
}

/// The state of a batch of N tokens and S sequences during a pass. The pass computes M rows.
/// M is less than N if tokens of several sequences share a row (PassRows).
struct TrainableModel::Call {
  LmWeights weights;                      // views of the parameters, in autograd's graph
  at::Tensor ids;                         // [M] token id of each row
  at::Tensor targets;                     // [N]
  std::vector<std::int64_t> last_tokens;  // [S] index of each sequence's last token; -1: no tokens
  grad::Sequences sequences;
  at::Tensor rows_of_tokens;            // [N] row of each token; undefined: token i has row i
  Rotation rotation;                    // undefined with learned positions
  std::vector<LayerCall> checkpointed;  // recomputed by the backward pass
};

TrainableModel::TrainableModel(LmConfig config, Device device, std::uint64_t seed,
                               const TrainingOptions& options)
    : config_(trained_config(std::move(config), options.head)),
      options_(options),
      arena_(trained_specs(config_, options.head), device, seed, options.dtype,
             options.has_gradients) {
  const at::NoGradGuard no_grad;
  ArenaSource source(arena_);
  weights_ = bind_weights(config_, source);
  if (!options.head) return;
  head_.weight = arena_.parameter(options.head->name + ".weight");
  if (options.head->has_bias) head_.bias = arena_.parameter(options.head->name + ".bias");
}

void TrainableModel::load(const formats::WeightFiles& files) {
  const at::NoGradGuard no_grad;
  const std::unique_ptr<CheckedSource> source = make_folder_source(files, config_);
  LmWeights read = bind_weights(config_, *source);
  std::vector<std::pair<at::Tensor, at::Tensor>> of_head;  // pairs (parameter, stored tensor)
  if (options_.head)
    for (const tensor::ParameterSpec& spec : head_specs(*options_.head, config_.hidden_size))
      if (files.find(spec.name) != nullptr)
        of_head.emplace_back(arena_.parameter(spec.name), source->take(spec.name, spec.shape));
  source->finish();
  const std::vector<at::Tensor*> from = tensors_of(read);
  const std::vector<at::Tensor*> into = tensors_of(weights_);
  for (std::size_t i = 0; i < from.size(); ++i)
    into[i]->copy_(*from[i]);
  for (auto& [to, tensor] : of_head)
    to.copy_(tensor);
}

LanguageModel TrainableModel::decoder() const {
  if (options_.dtype != DType::f32) throw Error("TrainableModel: float64 weights draw no tokens");
  require_heads(/*logits=*/true, /*own=*/false);
  const at::NoGradGuard no_grad;
  LmWeights weights = weights_;
  return {config_, std::move(weights)};
}

TrainableModel TrainableModel::frozen_copy() const {
  TrainingOptions options = options_;
  options.has_gradients = false;
  TrainableModel copy(config_, tensor::mgpu_device(arena_.weights()), /*seed=*/0, options);
  const at::NoGradGuard no_grad;
  at::Tensor(copy.arena_.weights()).copy_(arena_.weights());
  return copy;
}

TrainableModel::Call TrainableModel::begin(const LmBatch& batch) const {
  require_whole_columns(batch);
  const at::Tensor& like = weights_.embedding;
  Call call;
  ArenaSource source(arena_);
  call.weights = bind_weights(config_, source);
  call.ids = all_ids(config_, batch.spans);
  if (call.ids.numel() != static_cast<std::int64_t>(batch.targets.size()))
    throw ShapeError("TrainableModel: not one target per token");
  for (const std::int64_t target : batch.targets)
    if (target != kernels::kIgnoreTarget && (target < 0 || target >= config_.vocab))
      throw ShapeError("target " + std::to_string(target) + " in a vocabulary of " +
                       std::to_string(config_.vocab));
  call.targets = at::tensor(batch.targets, at::kLong).to(like.device());
  std::int64_t end = 0;
  for (const SequenceSpan& span : batch.spans) {
    end += std::ssize(span.ids);
    call.last_tokens.push_back(span.ids.empty() ? -1 : end - 1);
  }
  set_rows(batch, call);
  return call;
}

/// Sets the members ids, rows_of_tokens, sequences and rotation of `call`. On entry, `call.ids` has
/// the ids of all tokens, on the CPU.
void TrainableModel::set_rows(const LmBatch& batch, Call& call) const {
  const at::Tensor& like = weights_.embedding;
  const PassRows rows = rows_of(config_, batch, options_.shares_prefixes);
  if (rows.are_shared()) {
    call.ids = call.ids.index_select(0, at::tensor(rows.tokens, at::kLong));
    call.rows_of_tokens = integers(rows.rows, like);
    call.sequences = shared_sequences(rows, like);
  } else {
    call.sequences.index = index_without_cache(batch.spans, like);
    call.sequences.ranges = rows.ranges;
  }
  call.ids = call.ids.to(like.device());
  const std::vector<RotatedSpan> rotated = rotated_spans(config_, batch.spans, nullptr);
  if (config_.rope.kind == RopeKind::none || call.ids.numel() == 0) return;
  const Rotation rotation = make_rotation(config_, own_spans(rows, rotated), like);
  const at::ScalarType type = like.scalar_type();
  call.rotation = {rotation.cosine.to(type), rotation.sine.to(type)};
}

at::Tensor TrainableModel::layer(const Call& call, std::size_t index, const at::Tensor& x) const {
  const LayerWeights& weights = call.weights.layers[index];
  const auto project = [&](const at::Tensor& input, const Linear& linear) {
    return grad::project(input, linear, options_.compute);
  };
  const at::Tensor normed = grad::normalize(config_, x, weights.attention_norm);
  at::Tensor q = project(normed, weights.q).view({-1, config_.heads, config_.head_dim});
  at::Tensor k = project(normed, weights.k).view({-1, config_.kv_heads, config_.head_dim});
  const at::Tensor v = project(normed, weights.v).view({-1, config_.kv_heads, config_.head_dim});
  if (call.rotation.cosine.defined()) {
    q = grad::rotate(q, call.rotation, weights.q_norm, config_.norm_epsilon);
    k = grad::rotate(k, call.rotation, weights.k_norm, config_.norm_epsilon);
  }
  const at::Tensor attention_out =
      grad::attend(q, k, v, weights.sinks, {call.sequences, config_.layers[index]});
  const at::Tensor residual = x + project(attention_out, weights.out);  // [M, D]
  const at::Tensor mlp_in = grad::normalize(config_, residual, weights.mlp_norm);
  if (!weights.experts.empty())
    return residual + grad::mix_experts(config_, weights, mlp_in, options_.compute);
  const at::Tensor up = project(mlp_in, weights.up);
  const at::Tensor active =
      weights.gate.is_defined()
          ? grad::gated_activation(config_.activation, project(mlp_in, weights.gate), up)
          : grad::gated_activation(config_.activation, up, {});
  return residual + project(active, weights.down);
}

/// Returns the final hidden states of all tokens, [N, D]. Tokens of several sequences may share a
/// row (see Call). The layers run on the M distinct rows. Then each token gets the hidden state of
/// its row.
at::Tensor TrainableModel::hidden(const Call& call) const {
  const LmWeights& weights = call.weights;
  at::Tensor x = grad::embed(weights.embedding, call.ids);  // [M, D]
  if (weights.positions.defined())
    x = x + grad::embed_positions(weights.positions, call.sequences.index.positions);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    x = call.checkpointed.empty() ? layer(call, i, x)
                                  : CheckpointFunction::apply(x, &call.checkpointed[i]);
    mark_progress();
  }
  x = grad::normalize(config_, x, weights.norm);
  return call.rows_of_tokens.defined() ? grad::embed(x, call.rows_of_tokens) : x;
}

/// Returns the indices of the tokens whose hidden states are inputs of ModelHead, [rows] int64.
at::Tensor TrainableModel::head_rows(const Call& call, HeadRows rows) const {
  if (rows != HeadRows::last) {
    const at::Tensor learned =
        tensor::places_of_true(call.targets != kernels::kIgnoreTarget).squeeze(1);
    return rows == HeadRows::learned ? learned : learned + 1;
  }
  for (const std::int64_t token : call.last_tokens)
    if (token < 0) throw ShapeError("TrainableModel: a sequence without tokens has no last");
  return integers(call.last_tokens, call.targets);
}

void TrainableModel::require_heads(bool logits, bool own) const {
  if (own && !head_.is_defined())
    throw Error("TrainableModel: the loss needs an additional head, which the model lacks");
  if (logits && options_.head && options_.head->replaces_vocabulary)
    throw Error("TrainableModel: logits are needed, and the model has no vocabulary head");
}

/// Computes the loss at the vocabulary head and at ModelHead, and returns the sums. If `scale` has
/// a value, also adds to the gradients of the heads' parameters, and sets `hidden_gradient` [N, D],
/// the gradient of scale * loss with respect to `states`.
LmSums TrainableModel::apply_heads(const Call& call, const at::Tensor& states, const PassLoss& loss,
                                   std::optional<double> scale, at::Tensor* hidden_gradient) const {
  require_heads(loss.of_logits != nullptr, loss.of_head != nullptr);
  LmSums sums = loss.sums;
  const at::Tensor& head = weights_.head.weight;
  grad::HeadGradients gradients{{}, grad::gradient_of_leaf(head)};
  if (loss.of_logits) {
    sums += grad::head_loss({states, head, call.targets, options_.compute}, loss.of_logits,
                            scale.value_or(0.0), scale ? &gradients : nullptr);
    // For a tied head, autograd calls the hooks later, in the backward pass of embed().
    const bool is_tied = head.is_same(weights_.embedding);
    if (scale && !is_tied) grad::say_gradient_added(head);
  }
  if (scale) {
    const bool is_made = gradients.hidden.defined();
    *hidden_gradient = is_made ? gradients.hidden : at::zeros_like(states);
  }
  if (!loss.of_head) return sums;
  const at::Tensor rows = head_rows(call, loss.head_rows);
  at::Tensor outputs = grad::own_outputs(states, head_, rows);
  const std::vector<std::int64_t> shape = outputs.sizes().vec();
  sums += loss.of_head(outputs, scale);
  if (!scale) return sums;
  if (outputs.sizes() != shape)
    throw ShapeError("TrainableModel: the loss gave a gradient of another shape than the outputs");
  grad::add_own_gradients(states, head_, rows, outputs.to(states.options()), *hidden_gradient);
  return sums;
}

LmSums TrainableModel::loss(const LmBatch& batch, const TokenLoss& loss) const {
  const at::NoGradGuard no_grad;
  const Call call = begin(batch);
  loss.check(batch, config_);
  const PassLoss bound = loss.bind(batch);
  if (call.ids.numel() == 0) return bound.sums;
  return apply_heads(call, hidden(call), bound, std::nullopt, nullptr);
}

TokenValues TrainableModel::measure(const LmBatch& batch, const ValueRequest& request) const {
  const at::NoGradGuard no_grad;
  const bool needs_logits = request.log_probs || request.plain_log_probs || request.entropies;
  require_heads(needs_logits, request.head_rows != HeadRows::none);
  const Call call = begin(batch);
  if (call.ids.numel() == 0) return {};
  const at::Tensor states = hidden(call);
  TokenValues values;
  if (needs_logits)
    values =
        grad::head_values({states, weights_.head.weight, call.targets, options_.compute}, request);
  if (request.head_rows == HeadRows::none) return values;
  const at::Tensor outputs = tensor::read_back(
      grad::own_outputs(states, head_, head_rows(call, request.head_rows)).to(at::kDouble));
  const double* first = outputs.const_data_ptr<double>();
  values.head.assign(first, first + outputs.numel());
  return values;
}

LmSums TrainableModel::add_gradients(const LmBatch& batch, const PassOptions& pass) {
  const CrossEntropy plain;
  const TokenLoss& loss = pass.loss == nullptr ? plain : *pass.loss;
  std::optional<PhaseClock::Scope> phase;
  const auto enter = [&](std::string_view name) {
    phase.reset();
    phase.emplace(PhaseClock::enter(pass.clock, name));
  };
  loss.check(batch, config_);
  if (!loss.phase().empty()) enter(loss.phase());
  const PassLoss bound = loss.bind(batch);
  enter("forward");
  Call call = begin(batch);
  if (call.ids.numel() == 0) return bound.sums;
  if (options_.checkpoint_layers) {
    for (std::size_t i = 0; i < weights_.layers.size(); ++i)
      call.checkpointed.push_back(
          [this, &call, i](const at::Tensor& x) { return layer(call, i, x); });
  }
  const at::Tensor states = hidden(call);
  enter("backward");
  at::Tensor gradient;  // [N, D]
  const LmSums sums = apply_heads(call, states.detach(), bound, pass.grad_scale, &gradient);
  torch::autograd::backward({states}, {gradient});
  return sums;
}

}  // namespace mgpu::lm
