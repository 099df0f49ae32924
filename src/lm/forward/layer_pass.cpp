#include "layer_pass.hpp"

#include <new>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/failpoint.hpp>

#include "experts.hpp"
#include "row_ops.hpp"

namespace mgpu::lm {
namespace {

/// The keys and values to which a layer's queries attend: G key heads of width C per slot.
struct KeysValues {
  at::Tensor keys;    // [slots, G, C]
  at::Tensor values;  // [slots, G, C]
};

/// Returns the embeddings of `ids`, [N, D] float32; zeros for ids outside `vocab`, this rank's part
/// of the vocabulary.
at::Tensor rows_here(const at::Tensor& embedding, const at::Tensor& ids, const Range& vocab) {
  const at::Tensor elsewhere = (ids < vocab.begin).logical_or(ids >= vocab.end);
  const at::Tensor places = (ids - vocab.begin).masked_fill(elsewhere, 0);
  return embedding.index_select(0, places).to(at::kFloat).masked_fill_(elsewhere.unsqueeze(1), 0.0);
}

/// Returns the input of this rank's first layer, [N, D].
at::Tensor stage_input(const LmWeights& weights, const ModelInput& input, const Call& call) {
  const at::Tensor& ids = input.ids;
  at::Tensor x;
  if (!call.shard.has_embedding) {
    x = at::empty({ids.size(0), call.config.hidden_size}, options_of(weights));
    call.peers->receive_previous_stage(x);
    return x;
  }
  if (call.shard.is_tensor_parallel) {
    x = rows_here(weights.embedding, ids, call.shard.vocab);
    call.peers->all_reduce(x);
  } else {
    x = weights.embedding.index_select(0, ids).to(at::kFloat);
  }
  for (const GivenRows& rows : input.given)
    x.narrow(0, rows.first, rows.embeddings.size(0)).copy_(rows.embeddings);
  if (!weights.positions.defined()) return x;
  return x + weights.positions.index_select(0, call.index.positions);
}

at::Tensor rotated(const at::Tensor& heads, const at::Tensor& norm, const Call& call) {
  if (!call.rotation.cosine.defined()) return heads;
  return rotate(heads, call.rotation, norm, call.config.norm_epsilon);
}

/// Returns a copy of `call` for the rows `outputs` only, or `call` if `outputs` is undefined. The
/// last layer computes its queries with the copy. It computes its keys and values with `call`,
/// because they are needed for all tokens.
Call only_outputs(const Call& call, const at::Tensor& outputs) {
  if (!outputs.defined()) return call;
  const auto rows_of = [&](const at::Tensor& all) {
    return all.defined() ? all.index_select(0, outputs) : all;
  };
  Call some = call;
  some.index.positions = rows_of(call.index.positions);
  some.index.sequences = rows_of(call.index.sequences);
  some.rotation = {rows_of(call.rotation.cosine), rows_of(call.rotation.sine)};
  some.output_rows = outputs;
  return some;
}

at::Tensor rows_of_outputs(const at::Tensor& x, const Call& output_call) {
  return output_call.output_rows.defined() ? x.index_select(0, output_call.output_rows) : x;
}

/// Computes the keys and values of the call's tokens. With a cache, adds them to the cache, and
/// returns all keys and values of the layer in the cache.
KeysValues append_keys_values(const LayerWeights& weights, std::size_t layer, const at::Tensor& x,
                              const Call& call) {
  const LmConfig& config = call.config;
  const at::Tensor k = project(x, weights.k).view({-1, config.kv_heads, config.head_dim});
  const at::Tensor v = project(x, weights.v).view({-1, config.kv_heads, config.head_dim});
  const at::Tensor keys = rotated(k, weights.k_norm, call);
  if (call.cache == nullptr) return {keys, v};
  call.cache->write(layer, call.index.slots, keys, v);
  return {call.cache->keys(layer), call.cache->values(layer)};
}

/// Returns the attention output for the rows of `output_call`, which is `call` or a result of
/// only_outputs(). `x` has the rows of all tokens of the call.
at::Tensor attention(const LayerWeights& weights, std::size_t layer, const at::Tensor& x,
                     const Call& call, const Call& output_call) {
  const LmConfig& config = call.config;
  const KeysValues cached = append_keys_values(weights, layer, x, call);
  const at::Tensor own = rows_of_outputs(x, output_call);
  if (own.size(0) == 0) return own;
  at::Tensor q = project(own, weights.q).view({-1, config.heads, config.head_dim});
  q = rotated(q, weights.q_norm, output_call);
  const at::Tensor attention_out =
      attend(q, cached.keys, cached.values, output_call.index, config.layers[layer], weights.sinks);
  return project(attention_out, weights.out);
}

at::Tensor mlp(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x) {
  if (!weights.experts.empty()) return mix_experts(config, weights, x);
  const at::Tensor up = project(x, weights.up);
  const bool has_gate = weights.gate.is_defined();
  const at::Tensor inner = has_gate
                               ? gated_activation(config.activation, project(x, weights.gate), up)
                               : gated_activation(config.activation, up, {});
  return project(inner, weights.down);
}

/// Adds `values`, the output of attention or MLP, to the residual stream x. With tensor
/// parallelism, the call is collective, and first sums `values` over the ranks, in place.
void add_to(const at::Tensor& x, const at::Tensor& values, const Call& call) {
  if (call.shard.is_tensor_parallel) call.peers->all_reduce(values);
  x.add_(values);
}

/// Returns the layer's output for the rows of `output_call`, given its input x [N, D].
at::Tensor run_layer(const LayerWeights& weights, std::size_t layer, at::Tensor x, const Call& call,
                     const Call& output_call) {
  at::Tensor attended = attention(weights, layer, normalize(call.config, x, weights.attention_norm),
                                  call, output_call);
  x = rows_of_outputs(x, output_call);
  if (x.size(0) == 0) return x;
  add_to(x, attended, call);
  attended.reset();  // frees the memory before the MLP allocates its activations
  if (failpoint("generate.layer").error != 0) throw std::bad_alloc();
  add_to(x, mlp(call.config, weights, normalize(call.config, x, weights.mlp_norm)), call);
  return x;
}

}  // namespace

at::Tensor run_layers(const LmWeights& weights, const ModelInput& input, const at::Tensor& outputs,
                      const Call& call) {
  const Call last = only_outputs(call, outputs);
  at::Tensor x = stage_input(weights, input, call);  // [N, D]
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const bool is_last = layer + 1 == weights.layers.size();
    x = run_layer(weights.layers[layer], layer, std::move(x), call, is_last ? last : call);
    mark_progress();
  }
  if (call.shard.has_head) return x.size(0) == 0 ? x : normalize(call.config, x, weights.norm);
  call.peers->send_next_stage(x);
  return at::empty({0, call.config.hidden_size}, x.options());
}

}  // namespace mgpu::lm
