#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

namespace mgpu::lm {

/// Returns the entropy of the softmax of each row's logits, [N] float64 in nats on the device of
/// `hidden`. All sums are computed in float64. On the CPU the bits of a row do not depend on the
/// other rows.
///
/// Shapes: hidden [N, D] float32 on the model's device, with N rows of width D
/// Memory: one block of logits; the model's PassSizes set its size. On a GPU also several float64
///         tensors of this size.
/// Ranks:  collective over the ranks of the model; all ranks get the same bits
at::Tensor head_entropies(const LanguageModel& model, const at::Tensor& hidden);

}  // namespace mgpu::lm
