#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "rope.hpp"

// Inputs that inference and training derive from the spans of a call.
namespace mgpu::lm {

/// Returns the concatenated ids of all spans, [N] int64 on the CPU; 0 for tokens given as
/// embeddings or device_ids.
/// Errors: ShapeError when an id is not in the vocabulary.
at::Tensor all_ids(const LmConfig& config, std::span<const SequenceSpan> spans);

/// Rows of the first layer's input that are given as embeddings.
struct GivenRows {
  std::int64_t first;     // index of the first row in the call
  at::Tensor embeddings;  // [n, D] float32
};

/// The input of a call.
struct ModelInput {
  at::Tensor ids;                // [N] int64 on the model's device; arbitrary for given rows
  std::vector<GivenRows> given;  // in the order of their rows
};

/// Returns the input of a call, with the ids on `device`.
/// Errors: ShapeError when an id is not in the vocabulary, or embeddings are not [n, D] float32.
ModelInput input_of(const LmConfig& config, std::span<const SequenceSpan> spans,
                    const at::Device& device);

/// Returns the position of each span's first token, after a check that there are enough learned
/// positions.
/// Errors: ShapeError.
std::vector<RotatedSpan> rotated_spans(const LmConfig& config, std::span<const SequenceSpan> spans,
                                       const PagedCache* cache);

/// The numbers of rows that enter the layers, and that the last layer returns.
struct RowCounts {
  std::int64_t tokens = 0;
  std::int64_t outputs = 0;
};
RowCounts count_rows(std::span<const SequenceSpan> spans);

/// Returns the rows of the tokens whose states are requested, [W] int64 on the device of `ids`;
/// undefined if all are requested.
at::Tensor output_rows(std::span<const SequenceSpan> spans, const at::Tensor& ids);

}  // namespace mgpu::lm
