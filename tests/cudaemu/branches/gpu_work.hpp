// Counts the work that a GPU would do, in tests that run the GPU branches of the program on the CPU
// (see program/device_stream.cpp).
#pragma once

#include <cstdint>
#include <string>

namespace mgpu::emulated {

/// Counts launches and host reads since the object was made. Only one object may exist at a time.
///
/// A call of libtorch counts as a launch if it computes or copies elements. Views, allocations and
/// calls that consist of other calls do not count. Conversions to float32 that only the emulated
/// products need count too, so a GPU has at most the counted number of launches.
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
