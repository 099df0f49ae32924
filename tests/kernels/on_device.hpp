#pragma once

#include <vector>

#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

#include "../../kernels/launch.cuh"

namespace mgpu::kernels {

/// A copy of a host vector in device memory, which the destructor frees.
template <class T>
class OnDevice {
public:
  explicit OnDevice(const std::vector<T>& host) : count_(host.size()) {
    if (count_ == 0) return;
    void* data = nullptr;
    cuda_check(cudaMalloc(&data, count_ * sizeof(T)));
    data_ = static_cast<T*>(data);
    cuda_check(cudaMemcpy(data_, host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data_); }

  T* get() const { return data_; }

  /// Returns the values. Waits for the default stream.
  std::vector<T> host() const {
    std::vector<T> copy(count_);
    if (count_ == 0) return copy;
    cuda_check(cudaMemcpy(copy.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return copy;
  }

private:
  std::size_t count_;
  T* data_ = nullptr;
};

/// Skips the tests of a fixture if there is no GPU.
class GpuTest : public testing::Test {
protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  }
};

}  // namespace mgpu::kernels
