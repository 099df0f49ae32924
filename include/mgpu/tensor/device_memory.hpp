#pragma once

#include <cstdint>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::tensor {

/// The GPU memory that libtorch's allocator uses in this process, and the capacity of the GPU;
/// zeros if the device is the CPU.
/// Units:  bytes; `allocated` and `reserved` are peak values.
struct DeviceMemory {
  std::uint64_t allocated = 0;
  std::uint64_t reserved = 0;  // memory of tensors, and memory cached for later tensors
  std::uint64_t total = 0;     // capacity of the GPU
};

DeviceMemory device_memory(Device device);

/// Frees the GPU memory that libtorch's allocator caches but does not use. Does nothing on the CPU.
void empty_device_cache(Device device);

}  // namespace mgpu::tensor
