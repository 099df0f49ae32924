// Tests barriers that some threads miss.
#include <cub/block/block_reduce.cuh>

#include "wrong_kernels.cuh"

namespace cudaemu {
namespace {

constexpr int kLinesToBarrier = 4;
constexpr int kBarrierLine = __LINE__ + kLinesToBarrier;
__global__ void right_kernel(float* out) {
  __shared__ float values[kThreads];
  values[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = values[kThreads - 1 - threadIdx.x];
}

__global__ void early_return_kernel(float* out) {
  if (threadIdx.x == 3) return;
  __syncthreads();
  out[threadIdx.x] = 1.0F;
}

__global__ void two_barriers_kernel(float* out) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  out[threadIdx.x] = 1.0F;
}

__global__ void half_warp_kernel(float* out) {
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = __shfl_xor_sync(~0U, 1.0F, 1);
}

__global__ void not_in_mask_kernel(float* out) {
  out[threadIdx.x] = __shfl_xor_sync(0xFFFEU, 1.0F, 1);
}

__global__ void outside_mask_kernel(float* out) {
  if (threadIdx.x % 32 < 16) out[threadIdx.x] = __shfl_sync(0xFFFFU, 1.0F, 20);
}

__global__ void other_block_size_kernel(float* out) {
  __shared__ typename cub::BlockReduce<float, 32>::TempStorage scratch;
  out[threadIdx.x] = cub::BlockReduce<float, 32>(scratch).Sum(1.0F);
}

void expect_failure(void (*kernel)(float*), const char* words) {
  const Left left = run(kernel);
  EXPECT_EQ(left.code, cudaErrorLaunchFailure) << words;
  EXPECT_NE(left.err.find(words), std::string::npos) << left.err;
}

void expect_right() {
  const Left left = run(right_kernel);
  ASSERT_EQ(left.code, cudaSuccess) << left.err;
  EXPECT_EQ(left.races, 0);
  for (unsigned i = 0; i < kThreads; ++i)
    EXPECT_EQ(left.out[i], static_cast<float>(kThreads - 1 - i));
}

TEST(BarrierTest, ARightKernelRunsInAnyOrder) {
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    const InOrder in_order(order);
    expect_right();
  }
}

TEST(BarrierTest, AThreadThatHasReturnedIsMissed) {
  expect_failure(early_return_kernel, "thread 3 has returned");
}

TEST(BarrierTest, TwoPlacesAreNotOneBarrier) {
  expect_failure(two_barriers_kernel, "not all threads come to the barrier at");
}

TEST(BarrierTest, ALaneOfTheMaskIsMissed) {
  expect_failure(half_warp_kernel, "for lane 16, which has returned");
}

TEST(BarrierTest, MasksHoldTheirCallersAndTheirSources) {
  expect_failure(not_in_mask_kernel, "not in the mask of its own call");
  expect_failure(outside_mask_kernel, "a lane outside its mask");
}

TEST(BarrierTest, BlockReduceIsForBlocksOfItsSize) {
  expect_failure(other_block_size_kernel, "another number of threads");
}

TEST(BarrierTest, AStoppedKernelDoesNotHarmTheNext) {
  for (const auto kernel : {early_return_kernel, half_warp_kernel, outside_mask_kernel}) {
    run(kernel);
    expect_right();
  }
}

TEST(BarrierTest, ATestMayTakeABarrierOut) {
  settings().skipped = __FILE__ ":" + std::to_string(kBarrierLine);
  const Left left = run(right_kernel);
  settings().skipped.clear();

  EXPECT_EQ(left.code, cudaSuccess);
  EXPECT_EQ(left.races > 0, kSeesRaces);
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_TRUE(std::isnan(left.out[0]));
#endif
}

}  // namespace
}  // namespace cudaemu
