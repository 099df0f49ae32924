// Tests shared memory that is read before it is written, races, and accesses past the end.
#include <cub/block/block_reduce.cuh>

#include "wrong_kernels.cuh"

namespace cudaemu {
namespace {

using Reduce = cub::BlockReduce<float, kThreads>;

#if !defined(__SANITIZE_ADDRESS__)
/// Reads values[0], which no thread has written.
__global__ void uninitialized_kernel(float* out) {
  __shared__ float values[kThreads + 1];
  values[threadIdx.x + 1] = 1.0F;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}
#else
__global__ void beyond_array_kernel(float* out) {
  out[threadIdx.x + 1] = 1.0F;
}

__global__ void beyond_shared_kernel(float* out) {
  extern __shared__ float values[];
  values[threadIdx.x + 1] = 1.0F;
  out[threadIdx.x] = values[threadIdx.x];
}
#endif

__global__ void uninitialized_dynamic_kernel(float* out) {
  extern __shared__ float values[];
  if (threadIdx.x > 0) values[threadIdx.x] = 1.0F;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

/// Uses the sum on all threads, although only the first thread has it.
__global__ void sum_everywhere_kernel(float* out) {
  __shared__ typename Reduce::TempStorage scratch;
  out[threadIdx.x] = Reduce(scratch).Sum(1.0F);
}

/// Reuses TempStorage without a barrier in between.
__global__ void reused_storage_kernel(float* out) {
  __shared__ typename Reduce::TempStorage scratch;
  const float first = Reduce(scratch).Sum(1.0F);
  const float second = Reduce(scratch).Sum(2.0F);
  if (threadIdx.x == 0) out[0] = first + second;
}

/// Lacks the barrier between writing and reading.
__global__ void race_kernel(float* out) {
  __shared__ float values[kThreads];
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = values[(threadIdx.x + 1) % kThreads];
}

/// Reads values of other lanes after a shuffle, which orders no memory. Only the version with
/// kSyncs is right.
template <bool kSyncs>
__global__ void after_shuffle_kernel(float* out) {
  __shared__ float values[kThreads];
  values[threadIdx.x] = 1.0F;
  if (kSyncs) __syncwarp();
  const float sum = __shfl_xor_sync(~0U, 1.0F, 1);
  out[threadIdx.x] = sum + values[threadIdx.x ^ 1U];
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(MemoryTest, SharedMemoryBeginsAsNan) {
  const Left left = run(uninitialized_kernel);
  EXPECT_TRUE(std::isnan(left.out[0]));
  EXPECT_EQ(left.out[1], 1.0F);
}
#endif

TEST(MemoryTest, DynamicSharedMemoryBeginsAsNan) {
  const Left left = run(uninitialized_dynamic_kernel, kThreads * sizeof(float));
  EXPECT_TRUE(std::isnan(left.out[0]));
  EXPECT_EQ(left.out[1], 1.0F);
}

TEST(MemoryTest, OnlyTheFirstThreadHasTheSum) {
  const Left left = run(sum_everywhere_kernel);
  EXPECT_EQ(left.out[0], static_cast<float>(kThreads));
  EXPECT_TRUE(std::isnan(left.out[1]));
}

TEST(MemoryTest, StorageIsNotUsedAgainWithoutABarrier) {
  const InOrder in_order(Order::backward);  // the other warp writes before the first thread reads
  const Left left = run(reused_storage_kernel);
  EXPECT_NE(left.out[0], 3.0F * kThreads);
  EXPECT_EQ(left.races > 0, kSeesRaces);
}

TEST(MemoryTest, ARaceShowsInSomeOrder) {
  const Left forward = run(race_kernel);
  const InOrder in_order(Order::backward);
  const Left backward = run(race_kernel);
  EXPECT_NE(forward.out[0], 1.0F);
  EXPECT_EQ(backward.out[0], 1.0F);
  EXPECT_EQ(forward.races > 0, kSeesRaces);  // ThreadSanitizer reports a place only once
}

TEST(MemoryTest, ShufflesOrderNoMemory) {
  EXPECT_EQ(run(after_shuffle_kernel<false>).races > 0, kSeesRaces);
  EXPECT_EQ(run(after_shuffle_kernel<true>).races, 0);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(MemoryTest, ArraysEndWhereTheyEnd) {
  float* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, kThreads * sizeof(float)), cudaSuccess);
  EXPECT_DEATH((beyond_array_kernel<<<1, kThreads>>>(data)), "heap-buffer-overflow");
  EXPECT_DEATH((beyond_shared_kernel<<<1, kThreads, kThreads * sizeof(float)>>>(data)),
               "heap-buffer-overflow");
  cudaFree(data);
}
#endif

}  // namespace
}  // namespace cudaemu
