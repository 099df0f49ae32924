#include <c10/core/CachingDeviceAllocator.h>

#include <mgpu/tensor/device_memory.hpp>

#include "cuda_half.hpp"

namespace mgpu::tensor {
namespace {

std::uint64_t peak(const c10::CachingAllocator::StatArray& stat) {
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<std::uint64_t>(stat[kAll].peak);
}

}  // namespace

DeviceMemory device_memory(Device device) {
  if (device.kind == DeviceKind::cpu) return {};
  load_cuda_half();
  c10::DeviceAllocator* allocator = c10::getDeviceAllocator(c10::DeviceType::CUDA);
  const auto index = static_cast<c10::DeviceIndex>(device.index);
  // Before the first GPU tensor is made, the allocator has no statistics, and getDeviceStats()
  // would throw.
  if (!allocator->initialized()) return {0, 0, allocator->getMemoryInfo(index).second};
  const auto stats = allocator->getDeviceStats(index);
  return {peak(stats.allocated_bytes), peak(stats.reserved_bytes),
          allocator->getMemoryInfo(index).second};
}

void empty_device_cache(Device device) {
  if (device.kind == DeviceKind::cpu) return;
  load_cuda_half();
  c10::getDeviceAllocator(c10::DeviceType::CUDA)->emptyCache();
}

}  // namespace mgpu::tensor
