#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace mgpu::lm {

/// Zeros [count] float32 on the CPU, in huge pages where the system has them: what a decode step
/// reads once, weights and keys, would else spend as long on page tables as on memory.
///
/// Memory: not there before it is touched.
/// Errors: std::bad_alloc.
at::Tensor zeros_in_huge_pages(std::int64_t count);

/// Gives out parts of one region.
class HugePageArena {
public:
  explicit HugePageArena(std::int64_t bytes) : memory_(zeros_in_huge_pages(bytes / 4)) {}

  /// Shapes: any, of float32 or bfloat16; the sum of their rounded_up() bytes is at most `bytes`
  at::Tensor take(at::IntArrayRef shape, at::ScalarType type);

  /// Every part begins a cache line.
  static std::int64_t rounded_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

private:
  at::Tensor memory_;
  std::int64_t used_ = 0;  // bytes
};

}  // namespace mgpu::lm
