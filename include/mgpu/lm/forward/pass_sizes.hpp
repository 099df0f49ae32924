#pragma once

#include <cstdint>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::lm {

/// How much goes through a model at a time. Results do not depend on these sizes, but for the
/// rounding of sums over the vocabulary.
struct PassSizes {
  std::int64_t prefill_tokens;    // of prompts in one pass
  std::int64_t head_rows;         // states that meet the head together
  std::int64_t vocabulary_block;  // tokens whose logits exist together
  std::int64_t steps_per_read;    // tokens of a sequence that are drawn before the host sees them

  friend bool operator==(const PassSizes&, const PassSizes&) = default;
};

/// What suits a device. On a CPU a block of logits stays in the cache, and the host need not wait.
/// A GPU needs thousands of rows for each product, and waits for nothing but a read.
PassSizes pass_sizes(DeviceKind device);

}  // namespace mgpu::lm
