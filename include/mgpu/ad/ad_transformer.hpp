#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/kv_cache.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

// Shapes in this header: B = rows (samples), T = tokens <= n_transit, A = number of actions,
// G = cells per side of the grid.
namespace mgpu::ad {

/// Input of a model with TokenKind::step. The token of a step holds the current state and the
/// previous transition.
///
/// The first token of a window has no previous transition, so its field `action` is A. The
/// embedding tables also have rows for reward 2, which the environment `darkroom` never gives, and
/// for landing coordinates G, which TokenWriter never writes. A field of a token that is out of
/// range makes the logits of this token NaN, and may make the logits of other tokens NaN.
///
/// Memory: on the model's device.
struct StepTokens {
  at::Tensor x;          // [B, T] int64 column of the current cell, 0 .. G-1
  at::Tensor y;          // [B, T] int64 row of the current cell, 0 .. G-1
  at::Tensor action;     // [B, T] int64 previous action, 0 .. A-1; A at the first token
  at::Tensor reward;     // [B, T] int64 previous reward, 0 .. 2; 0 at the first token
  at::Tensor landing_x;  // [B, T] int64 column that the previous step reached; x at the first token
  at::Tensor landing_y;  // [B, T] int64 row that the previous step reached; y at the first token
};

/// Input of a model with TokenKind::transition. Row b consists of transitions 0 .. lengths[b]-1 and
/// then a query: the current state, for which the model predicts an action. Elements of
/// `transitions` from index lengths[b] on are padding.
///
/// Memory: on the model's device, except `lengths`.
struct TransitionTokens {
  at::Tensor transitions;  // [B, T-1, 2 + A + 1 + 2] float: x and y of the state, one-hot
                           // action, reward, x and y of the next state
  at::Tensor query;        // [B] int64 number of the current state, below G^2
  std::vector<std::int64_t> lengths;  // [B] 0 .. T-1
};

/// The numbers that determine the dropout masks of a batch. Without them, forward() drops nothing.
struct DropoutSamples {
  std::uint64_t seed = 0;
  at::Tensor samples;  // [B] int64 on the model's device: ordinal of each row's training item, see
                       // TrainingWindows
};

/// Returns the number of elements of AdTransformer::parameters().weights() for this configuration,
/// without allocating them. The number includes the gaps that align parameters.
///
/// Errors: Error when config.n_head is below 1 or does not divide config.n_embd.
std::int64_t weights_size(const AdTransformerConfig& config);

/// The causal transformer of Algorithm Distillation: pre-norm blocks, exact GELU, final norm.
///
/// Parameters in order, with D = n_embd:
///
/// - with TokenKind::step: step_embed.weight [4 G + A + 6, D]
/// - with TokenKind::transition: transition_embed.{weight, bias}, query_embed.weight
/// - position.weight
/// - for each block N: blocks.N.{norm1, attn.qkv, attn.out, norm2, mlp.up, mlp.down}.{weight, bias}
/// - norm.{weight, bias}, head.{weight, bias}
///
/// Linear weights are [out, in]. The rows of attn.qkv.weight are those of all queries, then all
/// keys, then all values. Each third of the rows is in the order of heads.
///
/// Source: Laskin et al. 2022, arXiv 2210.14215; blocks as in GPT-2.
class AdTransformer {
public:
  /// Makes a model whose random weights depend only on `config` and `seed`. `dtype` is f32, or f64
  /// to compute everything in double on the CPU for gradient checks. With f64, `config` must have
  /// AttentionKind::eager and ComputeKind::f32.
  /// Errors: Error when config.n_head is below 1 or does not divide config.n_embd.
  AdTransformer(const AdTransformerConfig& config, Device device, std::uint64_t seed,
                DType dtype = DType::f32);

  const AdTransformerConfig& config() const { return config_; }
  tensor::ParameterArena& parameters() { return arena_; }
  const tensor::ParameterArena& parameters() const { return arena_; }

  /// Returns, for every step, the logits of its action: [B, T, A] in the parameters' dtype. If
  /// `dropout` is nullptr, nothing is dropped.
  ///
  /// Errors: ShapeError when the model does not have TokenKind::step, or the shapes of `tokens` or
  ///         `dropout` are wrong.
  at::Tensor forward(const StepTokens& tokens, const DropoutSamples* dropout = nullptr) const;

  /// Returns the logits of the action at each row's query, [B, A] in the parameters' dtype. If
  /// `dropout` is nullptr, nothing is dropped.
  ///
  /// Errors: ShapeError when the model does not have TokenKind::transition, the shapes of `tokens`
  ///         or `dropout` are wrong, or a length is outside 0 .. T-1.
  at::Tensor forward(const TransitionTokens& tokens, const DropoutSamples* dropout = nullptr) const;

  KvCache make_cache(std::int64_t rows) const;

  /// Appends the first counts[b] steps of row b of `tokens` to row b of the cache. Returns the
  /// logits [B, A] of the last step that was appended to each row.
  ///
  /// Up to rounding, the logits equal those of forward() over all steps since the row was
  /// restarted. A row with count 0 does not change, and its logits are undefined. `tokens` has at
  /// least as many steps as the largest count. Steps of row b from index counts[b] on are padding.
  ///
  /// Errors: ShapeError when the model does not have TokenKind::step, when the shapes of `tokens`
  ///         or `counts` are wrong, or when a row would exceed n_transit steps. A ShapeError leaves
  ///         the cache unchanged.
  at::Tensor decode(KvCache& cache, const StepTokens& tokens,
                    const std::vector<std::int64_t>& counts) const;

  /// Appends transitions 0 .. lengths[b]-1 of row b of `tokens` to row b of the cache. Returns the
  /// logits [B, A] of the action at each row's query, `tokens.query`. The query is not cached.
  ///
  /// Errors: ShapeError when the model does not have TokenKind::transition, when the shapes of
  ///         `tokens` are wrong, or a length is outside 0 .. T-1. ShapeError also when the cached
  ///         transitions, the new transitions and the query of a row exceed n_transit tokens. A
  ///         ShapeError leaves the cache unchanged.
  at::Tensor decode(KvCache& cache, const TransitionTokens& tokens) const;

private:
  AdTransformerConfig config_;
  tensor::ParameterArena arena_;
};

}  // namespace mgpu::ad
