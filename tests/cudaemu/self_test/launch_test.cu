// Tests launches: what CUDA refuses, their syntax, and when they run.
#include <algorithm>

#include "wrong_kernels.cuh"

namespace cudaemu {
namespace {

__global__ void fill_kernel(float* out, float value) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

template <unsigned kFirst, class T>
__global__ void typed_kernel(T* out) {
  extern __shared__ T values[];
  values[threadIdx.x] = static_cast<T>(kFirst + threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];
}

class LaunchTest : public testing::Test {
protected:
  LaunchTest() { cudaMalloc(&data_, kThreads * sizeof(float)); }
  ~LaunchTest() override { cudaFree(data_); }

  cudaError_t code(dim3 grid, dim3 block, std::size_t bytes) {
    fill_kernel<<<grid, block, bytes>>>(data_, 1.0F);
    return cudaGetLastError();
  }

  std::vector<float> out() const {
    std::vector<float> values(kThreads);
    cudaMemcpy(values.data(), data_, kThreads * sizeof(float), cudaMemcpyDeviceToHost);
    return values;
  }

  float* data_ = nullptr;
};

TEST_F(LaunchTest, WhatCudaRefusesIsRefused) {
  EXPECT_EQ(code(dim3(0), dim3(kThreads), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(code(dim3(1, 65536), dim3(kThreads), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(code(dim3(1, 1, 65536), dim3(kThreads), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(code(dim3(1), dim3(0), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(code(dim3(1), dim3(1025), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(code(dim3(1), dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(code(dim3(1), dim3(kThreads), 0), cudaSuccess);
}

TEST_F(LaunchTest, MuchSharedMemoryIsAskedForFirst) {
  constexpr int kBytes = 64 << 10;
  const auto attribute = cudaFuncAttributeMaxDynamicSharedMemorySize;
  EXPECT_EQ(code(dim3(1), dim3(kThreads), kBytes), cudaErrorInvalidConfiguration);
  EXPECT_EQ(cudaFuncSetAttribute(fill_kernel, attribute, 228 << 10), cudaErrorInvalidValue);
  ASSERT_EQ(cudaFuncSetAttribute(fill_kernel, attribute, kBytes), cudaSuccess);
  EXPECT_EQ(code(dim3(1), dim3(kThreads), kBytes), cudaSuccess);
}

TEST_F(LaunchTest, KernelsAreTemplatesInNamespaces) {
  // A comment that contains <<<1, 2>>>() is not a launch.
  cudaemu::typed_kernel<std::max(3U, 7U), float><<<1, kThreads, kThreads * sizeof(float)>>>(data_);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out()[0], 7.0F + kThreads - 1.0F);
  EXPECT_EQ(out()[kThreads - 1], 7.0F);
}

TEST_F(LaunchTest, MemoryBeginsAsNan) {
  EXPECT_TRUE(std::isnan(out()[0]));
}

TEST_F(LaunchTest, LazyLaunchesAndCopiesWaitToBeWaitedFor) {
  float host = 3.0F;
  settings().is_lazy = true;
  fill_kernel<<<1, kThreads>>>(data_, 1.0F);
  cudaMemcpyAsync(data_, &host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemsetAsync(data_ + 1, 0, sizeof host);
  const bool is_untouched = std::isnan(data_[0]) && std::isnan(data_[1]);
  host = 4.0F;  // too early: the copy has not run
  const std::vector<float> values = out();
  settings().is_lazy = false;

  EXPECT_TRUE(is_untouched);
  EXPECT_EQ(values[0], 4.0F);
  EXPECT_EQ(values[1], 0.0F);
  EXPECT_EQ(values[2], 1.0F);
}

}  // namespace
}  // namespace cudaemu
