#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace mgpu::lm {

/// Returns zeros [count] float32 on the CPU, in huge pages if the system has them. A decode step
/// reads all weights and keys just once. With small pages, address translation (TLB misses) would
/// take as long as the reads.
///
/// Memory: pages are allocated at first touch.
/// Errors: std::bad_alloc.
at::Tensor zeros_in_huge_pages(std::int64_t count);

/// Allocates tensors from one region of memory in huge pages.
class HugePageArena {
public:
  explicit HugePageArena(std::int64_t bytes) : memory_(zeros_in_huge_pages(bytes / 4)) {}

  /// Returns the next tensor of the region.
  /// Shapes: any, of float32 or bfloat16; the sum of their rounded_up() bytes is at most `bytes`
  at::Tensor take(at::IntArrayRef shape, at::ScalarType type);

  /// Returns a size rounded up to whole cache lines of 64 bytes, so that every tensor starts at a
  /// cache line.
  static std::int64_t rounded_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

private:
  at::Tensor memory_;
  std::int64_t used_ = 0;  // bytes that take() has given out
};

}  // namespace mgpu::lm
