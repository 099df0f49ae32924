#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include <mgpu/ad/ad_transformer_config.hpp>

#include "dropout_op.hpp"

// Shapes in this header: B rows, T tokens, H heads, C head width, D = H * C.
namespace mgpu::ad {

/// Computes causal self-attention, [B, T, D], with dropout on the probabilities unless `dropout` is
/// nullptr. The softmax uses at least float32 for every compute type. Both values of `kind` compute
/// the same function and drop the same elements.
///
/// Shapes: qkv [B, T, 3 D]: queries, keys, values, each in the order of heads
at::Tensor causal_attention(const at::Tensor& qkv, std::int64_t heads, AttentionKind kind,
                            const Dropout* dropout);

}  // namespace mgpu::ad
