#pragma once

#include <cstdint>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::tensor {

/// GPU memory of this process, as counted by libtorch's allocator; zeros on the CPU.
/// Units:  bytes; `allocated` and `reserved` are peak values.
struct DeviceMemory {
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;  // allocated or cached
  std::uint64_t total = 0;     // capacity of the GPU
};

DeviceMemory device_memory(Device device);

/// Frees the GPU memory that libtorch's allocator caches but does not use. Does nothing on the CPU.
void empty_device_cache(Device device);

}  // namespace mgpu::tensor
