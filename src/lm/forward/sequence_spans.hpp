#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/cache/paged_cache.hpp>
#include <mgpu/lm/forward/language_model.hpp>

#include "rope.hpp"

// Inference and training use these functions to compute the input, positions and output rows of a
// pass from the SequenceSpans of the pass.
//
// Shapes in this header: n = tokens of a span, N = tokens of all spans, W = tokens whose states are
// requested, D = width.
namespace mgpu::lm {

/// Returns the concatenated ids of all spans, [N] int64 on the CPU; 0 for tokens given as
/// embeddings or device_ids.
/// Errors: ShapeError when an id is not in the vocabulary.
at::Tensor all_ids(const LmConfig& config, std::span<const SequenceSpan> spans);

/// Consecutive rows of the first layer's input that are given as embeddings.
struct GivenRows {
  std::int64_t first;     // index of the first row in the pass
  at::Tensor embeddings;  // [n, D] float32
};

/// The input of the first layer in a pass: token ids, and embeddings for some of the rows.
struct ModelInput {
  at::Tensor ids;                // [N] int64 on the model's device; arbitrary for rows of `given`
  std::vector<GivenRows> given;  // in the order of their rows
};

/// Returns the input of a pass, with the ids on `device`.
/// Errors: ShapeError when an id in SequenceSpan::ids is not in the vocabulary, or embeddings are
///         not [n, D] float32. Ids on the device are not checked.
ModelInput input_of(const LmConfig& config, std::span<const SequenceSpan> spans,
                    const at::Device& device);

/// Returns the positions of the tokens of each span. The first position of a span is the length of
/// its sequence in `cache` before PagedCache::extend(), or 0 if `cache` is nullptr.
/// Errors: ShapeError when there are too few learned positions.
std::vector<RotatedSpan> rotated_spans(const LmConfig& config, std::span<const SequenceSpan> spans,
                                       const PagedCache* cache);

/// The numbers of rows of a pass. `tokens` rows enter the layers, and the last layer returns
/// `outputs` rows.
struct RowCounts {
  std::int64_t tokens = 0;
  std::int64_t outputs = 0;
};
RowCounts count_rows(std::span<const SequenceSpan> spans);

/// Returns the row numbers of the tokens whose states are requested (SequenceSpan::num_outputs),
/// [W] int64 on the device of `ids`; undefined if all are requested.
at::Tensor output_rows(std::span<const SequenceSpan> spans, const at::Tensor& ids);

}  // namespace mgpu::lm
