#pragma once

#include <cstdint>

namespace mgpu::tensor {

/// The number format of the factors of matrix products. Norms, softmax and losses have the format
/// of the weights, which is float32 in training.
enum class ComputeKind : std::uint8_t { f32, bf16, f16 };

}  // namespace mgpu::tensor
