#pragma once

#include <cstdint>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::lm {

/// How much data a model processes at a time. On a CPU, the choice changes results only by the
/// rounding of sums over the vocabulary. On a GPU, it also changes the rounding of matrix products.
struct PassSizes {
  std::int64_t prefill_tokens;    // prompt tokens per pass
  std::int64_t head_rows;         // hidden states per call of the head
  std::int64_t vocabulary_block;  // tokens per block of logits
  std::int64_t steps_per_read;    // tokens drawn per sequence before the host reads them

  friend bool operator==(const PassSizes&, const PassSizes&) = default;
};

/// Returns the default sizes for a kind of device. On a CPU, a block of logits fits into the
/// processor's cache, and host reads cost nothing. A GPU needs thousands of rows per matrix
/// product. It is idle while the host reads, so the host reads only once per several tokens.
PassSizes pass_sizes(DeviceKind device);

}  // namespace mgpu::lm
