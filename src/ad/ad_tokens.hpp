#pragma once

#include <vector>

#include <mgpu/ad/ad_transformer.hpp>

namespace mgpu::ad {

/// Specs of the parameters that turn tokens into vectors.
std::vector<tensor::ParameterSpec> token_specs(const AdTransformerConfig& config);

/// Token vectors without their position, [B, T, D].
at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const StepTokens& tokens);

/// [B, T, D]: transitions, the query of row b at lengths[b], then padding.
at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const TransitionTokens& tokens);

/// The host's numbers as int64 on the device of `like`.
at::Tensor to_device(const std::vector<std::int64_t>& numbers, const at::Tensor& like);

}  // namespace mgpu::ad
