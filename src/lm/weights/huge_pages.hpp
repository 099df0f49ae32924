#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace mgpu::lm {

/// Returns zeros [count] float32 on the CPU, in huge pages if the system has them. Huge pages speed
/// up decoding. Each step of decoding reads all weights and the KV cache once, and with small pages
/// the TLB misses would take as long as the reads.
///
/// Memory: the system allocates each page at the first access.
/// Errors: std::bad_alloc.
at::Tensor zeros_in_huge_pages(std::int64_t count);

/// Allocates tensors in one region of memory that consists of huge pages.
class HugePageArena {
public:
  explicit HugePageArena(std::int64_t bytes) : memory_(zeros_in_huge_pages(bytes / 4)) {}

  /// Returns a tensor of zeros of this shape and type (float32 or bfloat16) in the next free bytes
  /// of the region. The sizes of all tensors, each after rounded_up(), may add up to at most
  /// `bytes` of the constructor.
  at::Tensor take(at::IntArrayRef shape, at::ScalarType type);

  /// Returns a size rounded up to whole cache lines of 64 bytes, so that every tensor starts at a
  /// cache line.
  static std::int64_t rounded_up(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

private:
  at::Tensor memory_;
  std::int64_t used_ = 0;  // bytes that take() has given out
};

}  // namespace mgpu::lm
