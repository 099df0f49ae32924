#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/kv_cache.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

// Shapes in this header: B = rows (samples), T = tokens <= n_transit, A = actions, G = grid.
namespace mgpu::ad {

/// Input of TokenKind::step: what the agent knows when it chooses its action at each step.
///
/// Reward 2 and landing G have embeddings as well, for a caller that marks the first token there,
/// too. The action alone tells it apart, and data::TokenWriter does no more.
///
/// Memory: on the model's device. A number out of range makes the logits of its token NaN.
struct StepTokens {
  at::Tensor x;          // [B, T] int64 column of the current cell, 0 .. G-1
  at::Tensor y;          // [B, T] int64 row of the current cell, 0 .. G-1
  at::Tensor action;     // [B, T] int64 previous action, 0 .. A-1; A: none yet
  at::Tensor reward;     // [B, T] int64 previous reward, 0 or 1; 0 at the first token
  at::Tensor landing_x;  // [B, T] int64 where the previous action led; the current cell
  at::Tensor landing_y;  // [B, T] int64 at the first token
};

/// Input of TokenKind::transition, ragged on the right: row b is transitions 0 .. lengths[b]-1,
/// then its query. What stands in `transitions` beyond that has no influence.
///
/// Memory: on the model's device, except `lengths`.
struct TransitionTokens {
  at::Tensor transitions;             // [B, T-1, 2 + A + 1 + 2] float: s, one-hot a, r, s'
  at::Tensor query;                   // [B] int64 current state, G x + y
  std::vector<std::int64_t> lengths;  // [B] 0 .. T-1
};

/// Which random numbers dropout takes. Without one the model does not drop.
struct DropoutSamples {
  std::uint64_t seed = 0;
  at::Tensor samples;  // [B] int64 ordinal of each row in the whole training, on the device
};

/// Elements of the weights of a model of this configuration, the arena's gaps included: what
/// parameters().weights() will have, known without the memory for it.
///
/// Errors: Error when sizes of the config do not fit together.
std::int64_t weights_size(const AdTransformerConfig& config);

/// Algorithm Distillation's causal transformer: pre-norm blocks, exact GELU, final norm.
///
/// Parameters, in order: step_embed.weight [3 G + ... rows, D] or transition_embed.{weight,bias}
/// and query_embed.weight; position.weight; blocks.N.{norm1, attn.qkv, attn.out, norm2, mlp.up,
/// mlp.down}.{weight, bias}; norm.{weight, bias}; head.{weight, bias}. Linear weights are
/// [out, in]; rows of attn.qkv are all queries, then keys, then values, by head.
///
/// Source: Laskin et al. 2022, arXiv 2210.14215; blocks as in GPT-2.
class AdTransformer {
public:
  /// dtype: f64 runs everything in double on the CPU, for gradient checks; otherwise f32.
  /// Errors: Error when sizes of the config do not fit together.
  AdTransformer(const AdTransformerConfig& config, Device device, std::uint64_t seed,
                DType dtype = DType::f32);

  const AdTransformerConfig& config() const { return config_; }
  tensor::ParameterArena& parameters() { return arena_; }
  const tensor::ParameterArena& parameters() const { return arena_; }

  /// Logits of the action at every step, [B, T, A] in the parameters' dtype.
  ///
  /// Errors: ShapeError when the tokens are of another kind than the config's or do not fit.
  at::Tensor forward(const StepTokens& tokens, const DropoutSamples* dropout = nullptr) const;

  /// Logits of the action at the query, [B, A].
  at::Tensor forward(const TransitionTokens& tokens, const DropoutSamples* dropout = nullptr) const;

  KvCache make_cache(std::int64_t rows) const;

  /// Appends counts[b] steps to row b of the cache and gives the logits [B, A] of its last one;
  /// equal to forward() over all steps since the row's restart, up to rounding. Rows with count
  /// 0 keep their state and their logits mean nothing. One step is T = 1; T > 1 refills a
  /// window.
  ///
  /// Errors: ShapeError when a row would exceed n_transit steps; the cache has not changed then.
  at::Tensor decode(KvCache& cache, const StepTokens& tokens,
                    const std::vector<std::int64_t>& counts) const;

  /// Appends lengths[b] transitions to row b, then looks at its query without keeping it.
  ///
  /// Errors: ShapeError when a row with its query would exceed n_transit.
  at::Tensor decode(KvCache& cache, const TransitionTokens& tokens) const;

private:
  AdTransformerConfig config_;
  tensor::ParameterArena arena_;
};

}  // namespace mgpu::ad
