// Contains the functions that tests of the emulator share. These tests launch kernels that are
// wrong on purpose.
#pragma once

#include <cstddef>
#include <vector>

#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

#include "../emulator/settings.hpp"

namespace cudaemu {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kSeesRaces = true;
#else
inline constexpr bool kSeesRaces = false;
#endif

/// Returns the number of races that ThreadSanitizer has reported so far; 0 without it.
int num_races();

constexpr unsigned kThreads = 64;

/// The effects of a launch.
struct Left {
  cudaError_t code;
  std::vector<float> out;
  int races;
  std::string err;  // stderr
};

/// Launches kernel(out) with `kThreads` threads, waits, and returns the effects.
inline Left run(void (*kernel)(float*), std::size_t shared_bytes = 0) {
  std::vector<float> out(kThreads);
  float* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, out.size() * sizeof(float)), cudaSuccess);
  const int races_before = num_races();
  testing::internal::CaptureStderr();
  Kernel("kernel", kernel).on(1, kThreads, shared_bytes)(data);
  const cudaError_t code = cudaDeviceSynchronize();
  std::string err = testing::internal::GetCapturedStderr();
  cudaMemcpy(out.data(), data, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(data);
  return {code, out, num_races() - races_before, std::move(err)};
}

/// Until the end of the scope, threads and thread blocks run in the given order.
class InOrder {
public:
  explicit InOrder(Order order) : before_(settings().order) { settings().order = order; }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  ~InOrder() { settings().order = before_; }

private:
  Order before_;
};

}  // namespace cudaemu
