#pragma once

#include <cstddef>
#include <cstdint>

namespace mgpu {

enum class DType : std::uint8_t { f32, f64, f16, bf16, i32, i64, u8, u32, u64 };

/// Returns the size of one element in bytes.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return 1;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::f32:
    case DType::i32:
    case DType::u32:
      return 4;
    case DType::f64:
    case DType::i64:
    case DType::u64:
      return 8;
  }
  return 0;
}

enum class DeviceKind : std::uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;  // CUDA ordinal among the visible devices; 0 on the CPU

  friend bool operator==(const Device&, const Device&) = default;
};

/// A non-owning view of elements. Modules without libtorch use BufferView in place of a tensor.
struct BufferView {
  void* data = nullptr;   // memory on `device`
  std::size_t count = 0;  // number of elements
  DType dtype = DType::f32;
  Device device{};

  std::size_t bytes() const { return count * size_of(dtype); }
};

}  // namespace mgpu
