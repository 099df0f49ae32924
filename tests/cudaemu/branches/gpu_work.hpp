// Counts what a GPU would do. Together with program/device_stream.cpp, tests run the GPU branches
// of the program on the CPU.
#pragma once

#include <cstdint>
#include <string>

namespace mgpu::emulated {

/// The work since an object was made. Only one object may exist at a time.
///
/// A call of libtorch counts if it computes or copies elements: views, allocations and calls that
/// consist of other calls do not count. Conversions to float32 that only the emulated products need
/// count, so a GPU has at most as many.
class GpuWork {
public:
  GpuWork();
  GpuWork(const GpuWork&) = delete;
  GpuWork& operator=(const GpuWork&) = delete;
  ~GpuWork();

  std::int64_t own_kernels() const;  // launches of this program's kernels
  std::int64_t libtorch_calls() const;
  std::int64_t launches() const { return own_kernels() + libtorch_calls(); }
  std::int64_t reads() const;                            // by the functions of read_back.hpp
  std::int64_t calls_of(const std::string& name) const;  // such as "aten::index_add_"

private:
  std::uint64_t handle_;
  std::int64_t kernels_before_;
  std::int64_t reads_before_;
};

}  // namespace mgpu::emulated
