#include <algorithm>
#include <functional>
#include <optional>
#include <string>
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
#include <mgpu/tensor/tensor_view.hpp>

#include "distill_loss.hpp"
#include "grad_experts.hpp"
#include "grad_head.hpp"
#include "grad_ops.hpp"
#include "lm/forward/token_runs.hpp"

namespace mgpu::lm {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kInitStd = 0.02;  // initializer_range of transformers

std::vector<tensor::ParameterSpec> initialized_specs(const LmConfig& config) {
  std::vector<tensor::ParameterSpec> specs = weight_specs(config);
  for (tensor::ParameterSpec& spec : specs) {
    const bool is_norm = spec.shape.size() == 1 && spec.name.ends_with(".weight");
    const bool is_matrix = spec.shape.size() > 1 && !spec.name.ends_with("bias");
    spec.init_value = is_norm ? 1.0 : 0.0;
    spec.init_std = is_matrix ? kInitStd : 0.0;
  }
  return specs;
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

/// Keeps the input of a layer only, and computes the layer again in backward. `layer` has to
/// live until then.
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

/// A batch on its way through the model.
struct TrainableModel::Call {
  LmWeights weights;   // with the way of their gradients, for this batch only
  at::Tensor ids;      // [N]
  at::Tensor targets;  // [N]
  grad::Sequences sequences;
  Rotation rotation;                    // undefined with learned positions
  std::vector<LayerCall> checkpointed;  // what backward computes again
};

TrainableModel::TrainableModel(LmConfig config, Device device, std::uint64_t seed,
                               const TrainingOptions& options)
    : config_(std::move(config)),
      options_(options),
      arena_(initialized_specs(config_), device, seed, options.dtype) {
  const at::NoGradGuard no_grad;
  ArenaSource source(arena_);
  weights_ = bind_weights(config_, source);
}

void TrainableModel::load(const formats::WeightFiles& files, const LoadOptions& options) {
  const at::NoGradGuard no_grad;
  LmWeights read = load_weights(config_, files, options);
  const std::vector<at::Tensor*> from = tensors_of(read);
  const std::vector<at::Tensor*> into = tensors_of(weights_);
  for (std::size_t i = 0; i < from.size(); ++i)
    into[i]->copy_(*from[i]);
}

LanguageModel TrainableModel::decoder() const {
  if (options_.dtype != DType::f32) throw Error("TrainableModel: float64 weights draw no tokens");
  const at::NoGradGuard no_grad;
  LmWeights weights = weights_;
  return {config_, std::move(weights)};
}

TrainableModel::Call TrainableModel::begin(const LmBatch& batch) const {
  const at::Tensor& like = weights_.embedding;
  Call call;
  ArenaSource source(arena_);
  call.weights = bind_weights(config_, source);
  call.ids = all_ids(config_, batch.runs);
  if (call.ids.numel() != static_cast<std::int64_t>(batch.targets.size()))
    throw ShapeError("TrainableModel: not one target per token");
  for (const std::int64_t target : batch.targets)
    if (target != kernels::kIgnoreTarget && (target < 0 || target >= config_.vocab))
      throw ShapeError("target " + std::to_string(target) + " in a vocabulary of " +
                       std::to_string(config_.vocab));
  call.ids = call.ids.to(like.device());
  call.targets = at::tensor(batch.targets, at::kLong).to(like.device());
  call.sequences.places = places_without_cache(batch.runs, like);
  std::int64_t begin = 0;
  for (const TokenRun& run : batch.runs) {
    call.sequences.spans.push_back({begin, static_cast<std::int64_t>(run.ids.size())});
    begin += call.sequences.spans.back().count;
  }
  const std::vector<RotatedRun> rotated = places_of(config_, batch.runs, nullptr);
  if (config_.rope.kind == RopeKind::none || begin == 0) return call;
  const Rotation rotation = make_rotation(config_, rotated, like);
  const at::ScalarType type = like.scalar_type();
  call.rotation = {rotation.cosine.to(type), rotation.sine.to(type)};
  return call;
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
  const at::Tensor mixed =
      grad::attend(q, k, v, weights.sinks, {call.sequences, config_.layers[index]});
  const at::Tensor middle = x + project(mixed, weights.out);  // [N, D]
  const at::Tensor inner = grad::normalize(config_, middle, weights.mlp_norm);
  if (!weights.experts.empty())
    return middle + grad::mix_experts(config_, weights, inner, options_.compute);
  const at::Tensor up = project(inner, weights.up);
  const at::Tensor active =
      weights.gate.is_defined()
          ? grad::gated_activation(config_.activation, project(inner, weights.gate), up)
          : grad::gated_activation(config_.activation, up, {});
  return middle + project(active, weights.down);
}

at::Tensor TrainableModel::hidden(const Call& call) const {
  const LmWeights& weights = call.weights;
  at::Tensor x = grad::embed(weights.embedding, call.ids);  // [N, D]
  if (weights.positions.defined())
    x = x + weights.positions.index_select(0, call.sequences.places.positions);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    x = call.checkpointed.empty() ? layer(call, i, x)
                                  : CheckpointFunction::apply(x, &call.checkpointed[i]);
    mark_progress();
  }
  return grad::normalize(config_, x, weights.norm);
}

void TrainableModel::require_targets(const LmBatch& batch, const Distillation& how) const {
  if (!batch.is_drawn.empty() &&
      (how.teacher == nullptr || batch.is_drawn.size() != batch.targets.size()))
    throw ShapeError("TrainableModel: not one mark per token, or no teacher for drawn ones");
  if (how.teacher != nullptr) {
    if (how.teacher->config().vocab != config_.vocab)
      throw ShapeError("TrainableModel: the teacher has another vocabulary");
    return;
  }
  const TeacherTargets& teacher = batch.teacher;
  if (teacher.ends.size() != batch.targets.size() ||
      teacher.tail_mass.size() != batch.targets.size() ||
      teacher.log_probs.size() != teacher.ids.size() ||
      !std::is_sorted(teacher.ends.begin(), teacher.ends.end()) ||
      (!teacher.ends.empty() && teacher.ends.back() != std::ssize(teacher.ids)))
    throw ShapeError("TrainableModel: not one list of a teacher per token");
  for (const std::int64_t id : teacher.ids)
    if (id < 0 || id >= config_.vocab)
      throw ShapeError("a teacher's token " + std::to_string(id) + " in a vocabulary of " +
                       std::to_string(config_.vocab));
}

namespace {

/// What the head minimizes. `how` and the batch have to live as long as it.
grad::BlockLoss head_loss_of(const LmBatch& batch, const Distillation* how) {
  if (how == nullptr) return grad::cross_entropy;
  if (how->teacher == nullptr) return grad::stored_loss(*how, batch.teacher);
  return grad::resident_loss(*how, how->teacher->hidden(batch.runs), batch.is_drawn);
}

}  // namespace

LmSums TrainableModel::loss(const LmBatch& batch, const Distillation* how) const {
  const at::NoGradGuard no_grad;
  const Call call = begin(batch);
  if (call.ids.numel() == 0) return {};
  if (how != nullptr) require_targets(batch, *how);
  return grad::head_loss({hidden(call), weights_.head.weight, call.targets, options_.compute},
                         head_loss_of(batch, how), 0.0, nullptr);
}

LmSums TrainableModel::add_gradients(const LmBatch& batch, const PassOptions& pass) {
  std::optional<PhaseClock::Scope> phase;
  const auto enter = [&](const char* name) {
    phase.reset();
    if (pass.clock != nullptr) phase.emplace(pass.clock->enter(name));
  };
  if (pass.how != nullptr) require_targets(batch, *pass.how);
  if (pass.how != nullptr && pass.how->teacher != nullptr) enter("teacher");
  const grad::BlockLoss loss = head_loss_of(batch, pass.how);
  enter("forward");
  Call call = begin(batch);
  if (call.ids.numel() == 0) return {};
  if (options_.checkpoint_layers) {
    for (std::size_t i = 0; i < weights_.layers.size(); ++i)
      call.checkpointed.push_back(
          [this, &call, i](const at::Tensor& x) { return layer(call, i, x); });
  }
  const at::Tensor states = hidden(call);
  enter("backward");
  const at::Tensor& head = weights_.head.weight;
  grad::HeadGradients gradients{{}, grad::gradient_of_leaf(head)};
  const LmSums sums = grad::head_loss({states.detach(), head, call.targets, options_.compute}, loss,
                                      pass.grad_scale, &gradients);
  if (!head.is_same(weights_.embedding)) grad::say_gradient_added(head);  // else embed() does
  torch::autograd::backward({states}, {gradients.hidden});
  return sums;
}

}  // namespace mgpu::lm
