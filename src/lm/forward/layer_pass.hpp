#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

#include "attention.hpp"
#include "rope.hpp"
#include "token_runs.hpp"

// Shapes in this header: N tokens of a call, W those whose states are wanted, D width.
namespace mgpu::lm {

/// Where the weights that are here are.
inline const at::Tensor& any_of(const LmWeights& weights) {
  return weights.embedding.defined() ? weights.embedding
                                     : weights.layers.front().attention_norm.weight;
}

/// What is computed: float32, there.
inline at::TensorOptions options_of(const LmWeights& weights) {
  return any_of(weights).options().dtype(at::kFloat);
}

/// One call: its tokens, and what all layers need of them.
struct Call {
  const LmConfig& config;  // of what is here
  TokenPlaces places;
  Rotation rotation;  // undefined with learned positions
  PagedCache* cache;  // nullptr: keys live as long as their layer
  const Shard& shard;
  ShardPeers* peers;
  at::Tensor chosen;  // [W] int64 rows of what goes into a layer that come out; undefined: all
};

/// Through all layers that are here, from the embedding or the rank before to the last norm or the
/// rank behind. Returns [W, D] float32; [0, D] where the head is elsewhere.
///
/// Shapes: wanted [W] int64 rows whose states leave the last layer, undefined: all
at::Tensor run_layers(const LmWeights& weights, const ModelInput& input, const at::Tensor& wanted,
                      const Call& call);

}  // namespace mgpu::lm
