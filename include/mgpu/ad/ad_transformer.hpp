#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/kv_cache.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

// Shapes in this header: B = rows (samples), T = tokens <= n_transit, A = actions, G = grid.
namespace mgpu::ad {

/// Input of TokenKind::step: at each step, the state and the previous transition.
///
/// The embedding tables also have rows for reward 2 and for landing coordinates G. A caller may use
/// these values to mark the first token. ad::TokenWriter marks it only by the action A.
/// Memory: on the model's device. An out-of-range number makes the logits of its token NaN.
struct StepTokens {
  at::Tensor x;          // [B, T] int64 column of the current cell, 0 .. G-1
  at::Tensor y;          // [B, T] int64 row of the current cell, 0 .. G-1
  at::Tensor action;     // [B, T] int64 previous action, 0 .. A-1; A: none
  at::Tensor reward;     // [B, T] int64 previous reward, 0 or 1; 0 at the first token
  at::Tensor landing_x;  // [B, T] int64 column of the previous landing; x at the first token
  at::Tensor landing_y;  // [B, T] int64 row of the previous landing; y at the first token
};

/// Input of TokenKind::transition, ragged on the right: row b has transitions 0 .. lengths[b]-1,
/// then its query. Later elements of `transitions` have no influence.
///
/// Memory: on the model's device, except `lengths`.
struct TransitionTokens {
  at::Tensor transitions;             // [B, T-1, 2 + A + 1 + 2] float: s, one-hot a, r, s'
  at::Tensor query;                   // [B] int64 current state, G x + y
  std::vector<std::int64_t> lengths;  // [B] 0 .. T-1
};

/// Selects the dropout masks of a batch. Without it, dropout is off.
struct DropoutSamples {
  std::uint64_t seed = 0;
  at::Tensor samples;  // [B] int64 ordinal of each row in the whole training, on the device
};

/// Returns the number of weights of a model with this configuration, without allocating them. It
/// equals the number of elements of parameters().weights(), and so includes the gaps between
/// parameters.
///
/// Errors: Error when sizes of the config are inconsistent.
std::int64_t weights_size(const AdTransformerConfig& config);

/// The causal transformer of Algorithm Distillation: pre-norm blocks, exact GELU, final norm.
///
/// Parameters, in order: step_embed.weight [3 G + ... rows, D] or transition_embed.{weight,bias}
/// and query_embed.weight; position.weight; blocks.N.{norm1, attn.qkv, attn.out, norm2, mlp.up,
/// mlp.down}.{weight, bias}; norm.{weight, bias}; head.{weight, bias}. Linear weights are
/// [out, in]; rows of attn.qkv are all queries, then keys, then values, by head.
///
/// Source: Laskin et al. 2022, arXiv 2210.14215; blocks as in GPT-2.
class AdTransformer {
public:
  /// Makes a model with random weights. `dtype` is f32, or f64 to compute everything in double on
  /// the CPU for gradient checks.
  /// Errors: Error when sizes of the config are inconsistent.
  AdTransformer(const AdTransformerConfig& config, Device device, std::uint64_t seed,
                DType dtype = DType::f32);

  const AdTransformerConfig& config() const { return config_; }
  tensor::ParameterArena& parameters() { return arena_; }
  const tensor::ParameterArena& parameters() const { return arena_; }

  /// Returns the logits of the action at every step, [B, T, A] in the parameters' dtype.
  ///
  /// Errors: ShapeError when the token kind differs from the config's or shapes do not match.
  at::Tensor forward(const StepTokens& tokens, const DropoutSamples* dropout = nullptr) const;

  /// Returns the logits of the action at the query, [B, A].
  at::Tensor forward(const TransitionTokens& tokens, const DropoutSamples* dropout = nullptr) const;

  KvCache make_cache(std::int64_t rows) const;

  /// Appends counts[b] steps to row b of the cache, and returns the logits [B, A] of each row's
  /// last step. These logits equal those of forward() over all steps since the row's restart, up to
  /// rounding. Rows with count 0 keep their state, and their logits are undefined. T = 1 decodes
  /// one step, and T > 1 refills a window.
  ///
  /// Errors: ShapeError when a row would exceed n_transit steps; the cache is then unchanged.
  at::Tensor decode(KvCache& cache, const StepTokens& tokens,
                    const std::vector<std::int64_t>& counts) const;

  /// Appends lengths[b] transitions to row b of the cache, and returns the logits [B, A] of the
  /// queries. The queries are not cached.
  ///
  /// Errors: ShapeError when a row plus its query would exceed n_transit.
  at::Tensor decode(KvCache& cache, const TransitionTokens& tokens) const;

private:
  AdTransformerConfig config_;
  tensor::ParameterArena arena_;
};

}  // namespace mgpu::ad
