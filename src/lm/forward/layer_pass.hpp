#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

#include "attention.hpp"
#include "rope.hpp"
#include "sequence_spans.hpp"

// Shapes in this header: N tokens of a pass, W tokens whose states are returned, D width.
namespace mgpu::lm {

/// Returns one of this rank's weights. Callers need its device, which all weights share.
inline const at::Tensor& any_of(const LmWeights& weights) {
  return weights.embedding.defined() ? weights.embedding
                                     : weights.layers.front().attention_norm.weight;
}

/// Returns the tensor options of activations: float32 on the device of the weights.
inline at::TensorOptions options_of(const LmWeights& weights) {
  return any_of(weights).options().dtype(at::kFloat);
}

/// The data of one pass that all layers of this rank share.
struct Call {
  const LmConfig& config;  // config of this rank's shard
  AttentionIndex index;
  Rotation rotation;  // undefined with learned positions
  PagedCache* cache;  // nullptr: keys and values exist only while their layer runs
  const Shard& shard;
  ShardPeers* peers;       // nullptr: the model is on one rank
  at::Tensor output_rows;  // [W] int64 rows whose output the last layer returns; undefined: all
};

/// Runs all layers of this rank. The input of the first of these layers comes from the embedding or
/// from the previous pipeline stage. Ranks with the head return the output after the last norm, [W,
/// D] float32. Other ranks send the output to the next stage, and return [0, D].
///
/// Ranks:  collective over `call.peers`
/// Shapes: outputs [W] int64 rows whose states are returned; undefined: all
at::Tensor run_layers(const LmWeights& weights, const ModelInput& input, const at::Tensor& outputs,
                      const Call& call);

}  // namespace mgpu::lm
