#pragma once

#include <cstdint>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::tensor {

/// Memory of a GPU as libtorch's allocator counts it for this process; zeros on the CPU.
/// Units:  bytes; `allocated` and `reserved` are the largest so far.
struct DeviceMemory {
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;  // allocated, and cached for later
  std::uint64_t total = 0;     // of the GPU
};

DeviceMemory device_memory(Device device);

/// Gives memory that is cached and not in use back to the GPU. Nothing to do on the CPU.
void empty_device_cache(Device device);

}  // namespace mgpu::tensor
