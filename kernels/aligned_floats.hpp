#pragma once

#include <cstddef>
#include <new>

#include <hwy/aligned_allocator.h>

namespace mgpu::kernels::cpu {

/// Returns memory for `count` floats, aligned for SIMD loads and not initialized.
/// Errors: std::bad_alloc, which Highway's own function does not throw.
inline hwy::AlignedFreeUniquePtr<float[]> aligned_floats(std::size_t count) {
  hwy::AlignedFreeUniquePtr<float[]> memory = hwy::AllocateAligned<float>(count);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace mgpu::kernels::cpu
