// Tests that shuffles, votes and atomics give CUDA's results.
#include "wrong_kernels.cuh"

namespace cudaemu {
namespace {

/// Runs a kernel of one value per thread; checks out[i] == expected(i) in any order of threads.
template <class Expected>
void expect_each(void (*kernel)(float*), const Expected& expected) {
  for (const Order order : {Order::forward, Order::backward, Order::random}) {
    const InOrder in_order(order);
    const Left left = run(kernel);
    ASSERT_EQ(left.code, cudaSuccess) << left.err;
    EXPECT_EQ(left.races, 0);
    for (unsigned i = 0; i < kThreads; ++i)
      ASSERT_EQ(left.out[i], static_cast<float>(expected(i))) << i;
  }
}

__global__ void broadcast_kernel(float* out) {
  const auto mine = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = __shfl_sync(~0U, mine, 5);
}
__global__ void eighths_kernel(float* out) {
  const auto mine = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = __shfl_sync(~0U, mine, 9, 8);  // lane 1 of each eight
}
__global__ void butterfly_kernel(float* out) {
  const auto mine = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = __shfl_xor_sync(~0U, mine, 3);
}
__global__ void up_kernel(float* out) {
  const auto mine = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = __shfl_up_sync(~0U, mine, 2, 16);
}
__global__ void down_kernel(float* out) {
  const auto mine = static_cast<float>(threadIdx.x);
  out[threadIdx.x] = __shfl_down_sync(~0U, mine, 2, 16);
}

TEST(WarpTest, ShufflesReadTheLaneTheyName) {
  expect_each(broadcast_kernel, [](unsigned i) { return i / 32 * 32 + 5; });
  expect_each(eighths_kernel, [](unsigned i) { return i / 8 * 8 + 1; });
  expect_each(butterfly_kernel, [](unsigned i) { return i ^ 3U; });
}

TEST(WarpTest, LanesAtTheEdgeKeepTheirOwnValue) {
  expect_each(up_kernel, [](unsigned i) { return i % 16 < 2 ? i : i - 2; });
  expect_each(down_kernel, [](unsigned i) { return i % 16 > 13 ? i : i + 2; });
}

/// Lanes 0 to 15 meet more often than the others, then all meet.
__global__ void divided_kernel(float* out) {
  float mine = static_cast<float>(threadIdx.x % 32);
  if (threadIdx.x % 32 < 16) {
    for (int round = 0; round < 3; ++round)
      mine += __shfl_xor_sync(0xFFFFU, mine, 1);
  }
  out[threadIdx.x] = __shfl_sync(~0U, mine, 16) + __shfl_sync(~0U, mine, 0);
}

TEST(WarpTest, HalvesOfAWarpMayMeetByThemselves) {
  expect_each(divided_kernel, [](unsigned) { return 16 + 4; });  // lane 0: 0, 1, 2, 4
}

__global__ void ballot_kernel(float* out) {
  out[threadIdx.x] = static_cast<float>(__ballot_sync(~0U, threadIdx.x % 32 < 3));
}
__global__ void any_all_kernel(float* out) {
  const int is_first = threadIdx.x == 0;
  const int any = __any_sync(~0U, is_first);
  const int all = __all_sync(~0U, is_first == 0);
  out[threadIdx.x] = static_cast<float>(2 * any + all);
}

TEST(WarpTest, VotesCountTheirWarpOnly) {
  expect_each(ballot_kernel, [](unsigned) { return 7; });
  expect_each(any_all_kernel, [](unsigned i) { return i < 32 ? 2 : 1; });
}

__global__ void atomics_kernel(float* out) {
  __shared__ int sum;
  __shared__ int top;
  __shared__ int winners;
  if (threadIdx.x == 0) sum = top = winners = 0;
  __syncthreads();
  atomicAdd(&sum, static_cast<int>(threadIdx.x));
  atomicMax(&top, static_cast<int>(threadIdx.x));
  if (atomicCAS(&winners, 0, 1) == 0) atomicAdd(&winners, 1);
  __syncthreads();
  out[threadIdx.x] = static_cast<float>(10000 * winners + 2 * sum + top);
}

TEST(WarpTest, AtomicsAreNoRaces) {
  expect_each(atomics_kernel, [](unsigned) { return 20000 + 63 * 64 + 63; });
}

}  // namespace
}  // namespace cudaemu
