#pragma once

#include <cstdint>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::lm {

/// How much data the vocabulary head processes at a time in training. On a CPU, temporary tensors
/// must fit into the caches. A GPU needs thousands of rows per matrix product, and few kernel
/// launches. The choice changes results only by the rounding of sums.
struct HeadBlocks {
  std::int64_t rows;  // hidden states whose logits [rows, vocabulary] are in memory at once
  std::int64_t vocabulary_block;  // tokens per temporary tensor [rows, vocabulary_block]
};

/// Returns the block sizes for a vocabulary of `vocab` tokens on this kind of device.
///
/// Memory: the logits of a block take up to 64 MiB on a CPU and 1 GiB on a GPU, unless a single row
///         of logits is larger.
HeadBlocks head_blocks(DeviceKind device, std::int64_t vocab);

}  // namespace mgpu::lm
