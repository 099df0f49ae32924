#pragma once

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/value_guide.hpp>

// Shapes in this header: M = rows of outputs, O = outputs of the value head.
namespace mgpu::lm {

/// Returns guide_offset(), the offset of a candidate token's logit, for each row of outputs: [M]
/// float32 on the device of `outputs`. The function does not copy values from the device to the
/// host. On the CPU the bits of a row's offset depend on that row only.
///
/// Shapes: outputs [M, O] float32
at::Tensor guide_offsets(const GuideSettings& settings, const ValueHead& head,
                         const at::Tensor& outputs);

/// Computes guide_offsets() for outputs in host memory, by a call of guide_offset() for each row.
at::Tensor guide_offsets_by_rows(const GuideSettings& settings, const ValueHead& head,
                                 const at::Tensor& outputs);

/// Returns the same as guide_offsets_by_rows(), but computes with float64 tensors on the device of
/// `outputs`. The float64 values may differ in their last bits before they are rounded to float32.
at::Tensor guide_offsets_by_tensors(const GuideSettings& settings, const ValueHead& head,
                                    const at::Tensor& outputs);

}  // namespace mgpu::lm
