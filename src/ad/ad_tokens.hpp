#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>

namespace mgpu::ad {

// Shapes in this header: B = rows, T = tokens, D = n_embd.

/// Returns the specs of the parameters that embed tokens.
std::vector<tensor::ParameterSpec> token_specs(const AdTransformerConfig& config);

/// Returns the embedding of each token, [B, T, D], without the position embedding.
/// Errors: ShapeError when the fields of `tokens` are not all [B, T].
at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const StepTokens& tokens);

/// Returns embeddings [B, T, D]. Row b has the embeddings of its transitions, then at index
/// lengths[b] the embedding of `tokens.query`, then padding. Position embeddings are not added.
/// Errors: ShapeError when the shapes of `tokens` do not fit each other or `config`, or a length is
///         outside 0 .. T-1.
at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const TransitionTokens& tokens);

/// Returns the numbers as an int64 tensor on the device of `like`.
at::Tensor to_device(const std::vector<std::int64_t>& numbers, const at::Tensor& like);

}  // namespace mgpu::ad
