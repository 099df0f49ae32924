#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/kv_cache.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

#include "dropout_op.hpp"

// Shapes in this header: B rows, T tokens, D width, H heads, C = D / H.
namespace mgpu::ad {

/// Computes x W^T + b in the compute type, with the parameters `name`.weight and `name`.bias. The
/// result has the dtype of x.
at::Tensor linear(const tensor::ParameterArena& arena, const std::string& name, const at::Tensor& x,
                  tensor::ComputeKind compute);

/// Normalizes each token of x over its D elements, with the parameters `name`.weight and
/// `name`.bias.
at::Tensor layer_norm(const tensor::ParameterArena& arena, const std::string& name,
                      const at::Tensor& x);

/// Returns the specs of the parameters of block `layer`.
std::vector<tensor::ParameterSpec> block_specs(const AdTransformerConfig& config,
                                               std::int64_t layer);

/// The numbers that select the dropout masks of one training batch. If `samples` is undefined,
/// nothing is dropped.
struct BlockDropout {
  std::uint64_t seed = 0;
  at::Tensor samples;  // [B] int64 ordinal of each row's training item, see DropoutSamples
};

/// Computes transformer block `layer`: x += attention(norm(x)), then x += mlp(norm(x)). Returns x.
at::Tensor block_forward(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                         std::int64_t layer, const at::Tensor& x, const BlockDropout& dropout);

/// The places where decoding stores new tokens in the KV cache, and the tokens to which the new
/// tokens attend.
struct DecodePlace {
  /// [B, T] int64 index of each new token in its cached row. Padding that does not fit into the row
  /// has the extra index n_transit.
  at::Tensor positions;
  std::int64_t visible;  // number of cached indices that attention reads
  bool is_fresh;         // true: all rows were empty, so new tokens attend only to each other
};

/// Computes transformer block `layer` for new tokens, without dropout. Reads the keys and values of
/// earlier tokens from `cache`, and stores the keys and values of the new tokens in `cache`.
at::Tensor block_decode(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                        std::int64_t layer, const at::Tensor& x, const DecodePlace& place,
                        KvCache& cache);

}  // namespace mgpu::ad
