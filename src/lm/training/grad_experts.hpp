#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>
#include <mgpu/tensor/compute_kind.hpp>

namespace mgpu::lm::grad {

/// Applies the mixture of experts to each token, with gradients. In float32 on the CPU, the result
/// has the same bits as the result of lm::mix_experts(). The choice of a token's experts is made in
/// float32 and has no gradient.
///
/// Shapes: x [tokens, hidden size]; the result has the same shape
/// Memory: until the backward pass, for each token, the inputs and the outputs of the gate, up and
///         down projections of all experts that the token uses.
at::Tensor mix_experts(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x,
                       tensor::ComputeKind compute);

}  // namespace mgpu::lm::grad
