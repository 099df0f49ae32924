#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/sampler.hpp>

#include "changed_logits.hpp"

namespace mgpu::lm {

/// Draws one token per row among its best tokens (SamplingConfig::top_k), after temperature and top
/// p. The steps are those of top_k_top_p() and pick() in top_k_top_p.hpp. They are tensor
/// operations here, so the host reads nothing back. Compared with top_k_top_p(), only exponential
/// functions may be rounded differently. A row whose logits are not finite gets any valid id, and
/// its sum in DrawnRows::log_sums is not finite.
///
/// config.top_k must be above 0. The smaller of config.top_k and the size of the vocabulary must be
/// at most kernels::kMaxBest.
///
/// Shapes: uniforms [N] float64 on the device of the N rows, in [0, 1)
/// Ranks:  collective over the ranks of a tensor-parallel model
DrawnRows draw_from_best(const SampledRows& rows, const SamplingConfig& config,
                         const at::Tensor& uniforms);

}  // namespace mgpu::lm
