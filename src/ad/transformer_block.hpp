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

/// Computes x W^T + b in the compute type, and returns x's dtype.
at::Tensor linear(const tensor::ParameterArena& arena, const std::string& name, const at::Tensor& x,
                  tensor::ComputeKind compute);

at::Tensor layer_norm(const tensor::ParameterArena& arena, const std::string& name,
                      const at::Tensor& x);

/// Returns the specs of the parameters of block `layer`.
std::vector<tensor::ParameterSpec> block_specs(const AdTransformerConfig& config,
                                               std::int64_t layer);

/// The random numbers of dropout for one training batch. Nothing is dropped if `samples` is
/// undefined.
struct BlockDropout {
  std::uint64_t seed = 0;
  at::Tensor samples;  // [B] int64, or undefined
};

/// Computes x + attention(norm(x)), then x + mlp(norm(x)).
at::Tensor block_forward(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                         std::int64_t layer, const at::Tensor& x, const BlockDropout& dropout);

/// Positions of the tokens of a decode step.
struct DecodePlace {
  at::Tensor positions;  // [B, T] int64 slot of each new token; padding has the last slot
  std::int64_t visible;  // slots that any row may attend to
  bool is_fresh;         // all rows start at 0, so only the new tokens are visible
};

/// Computes block_forward for new tokens. It reads the keys and values of earlier tokens from the
/// cache, and stores those of the new tokens.
at::Tensor block_decode(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                        std::int64_t layer, const at::Tensor& x, const DecodePlace& place,
                        KvCache& cache);

}  // namespace mgpu::ad
