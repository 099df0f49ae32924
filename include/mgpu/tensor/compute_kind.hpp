#pragma once

#include <cstdint>

namespace mgpu::tensor {

/// The number format of matrix products; norms, softmax and losses are always float32.
enum class ComputeKind : std::uint8_t { f32, bf16, f16 };

}  // namespace mgpu::tensor
