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

/// x W^T + b in the compute type, handed back in x's own.
at::Tensor linear(const tensor::ParameterArena& arena, const std::string& name, const at::Tensor& x,
                  tensor::ComputeKind compute);

at::Tensor layer_norm(const tensor::ParameterArena& arena, const std::string& name,
                      const at::Tensor& x);

/// Specs of the parameters of block `layer`.
std::vector<tensor::ParameterSpec> block_specs(const AdTransformerConfig& config,
                                               std::int64_t layer);

/// The random numbers of one training batch; nothing is dropped without samples.
struct BlockDropout {
  std::uint64_t seed = 0;
  at::Tensor samples;  // [B] int64, or undefined
};

/// x + attention(norm(x)), then x + mlp(norm(x)).
at::Tensor block_forward(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                         std::int64_t layer, const at::Tensor& x, const BlockDropout& dropout);

/// Where the tokens of a decode step go.
struct DecodePlace {
  at::Tensor positions;  // [B, T] int64 slot of each new token; the cache's last for padding
  std::int64_t visible;  // slots that any row may look at
  bool is_fresh;         // all rows start at 0: the new tokens are all there is
};

/// block_forward for new tokens only, the earlier ones being in the cache; stores the new ones.
at::Tensor block_decode(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                        std::int64_t layer, const at::Tensor& x, const DecodePlace& place,
                        KvCache& cache);

}  // namespace mgpu::ad
