#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>

namespace mgpu::ad {

/// Returns the specs of the parameters that embed tokens.
std::vector<tensor::ParameterSpec> token_specs(const AdTransformerConfig& config);

/// Returns token vectors without positions, [B, T, D].
at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const StepTokens& tokens);

/// Returns [B, T, D]: the vectors of the transitions, then that of the query of row b at
/// lengths[b], then padding.
at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const TransitionTokens& tokens);

/// Copies the numbers as int64 to the device of `like`.
at::Tensor to_device(const std::vector<std::int64_t>& numbers, const at::Tensor& like);

}  // namespace mgpu::ad
