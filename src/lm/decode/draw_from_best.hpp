#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "changed_logits.hpp"

namespace mgpu::lm {

/// Draws one token per row among its SamplingConfig::top_k best tokens, after temperature and top
/// p. The function draws as pick() does from the candidates of top_k_top_p(). It uses tensor
/// operations only, so the host reads nothing back.
///
/// Shapes: uniforms [N] float64 on the device of the N rows, in [0, 1)
/// Ranks:  collective over the ranks of a tensor-parallel model
DrawnRows draw_from_best(const SampledRows& rows, const SamplingConfig& config,
                         const at::Tensor& uniforms);

}  // namespace mgpu::lm
