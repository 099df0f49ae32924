// Tests a counter that gives each number to the rank that asks first.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/cluster/shared_counter.hpp>
#include <mgpu/cluster/try_together.hpp>

namespace mgpu::cluster {
namespace {

TEST(SharedCounterTest, EachNumberIsGivenOnceAndNoneIsLeftOut) {
  const Group world = Group::world();
  constexpr std::int64_t kCount = 500;
  std::vector<std::int64_t> mine;
  {
    SharedCounter counter(world, 60.0);
    for (std::int64_t ticket = counter.take(); ticket < kCount; ticket = counter.take())
      mine.push_back(ticket);
    world.barrier();
  }
  EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
  std::vector<std::int64_t> all = all_gather_records(world, mine);
  std::sort(all.begin(), all.end());
  ASSERT_EQ(std::ssize(all), kCount);
  for (std::int64_t i = 0; i < kCount; ++i)
    EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
}

TEST(SharedCounterTest, RankZeroAnswersWhileItIsOutsideMpi) {
  const Group world = Group::world();
  SharedCounter counter(world, 60.0);
  world.barrier();
  const auto begin = std::chrono::steady_clock::now();
  const auto far = begin + std::chrono::milliseconds(500);
  if (world.rank() == 0) {
    std::this_thread::sleep_until(far);
  } else {
    counter.take();
    EXPECT_LT(std::chrono::steady_clock::now(), far);
  }
  world.barrier();
}

TEST(SharedCounterTest, WaitingForQuestionsCostsLittle) {
  const Group world = Group::world();
  SharedCounter counter(world, 60.0);
  const std::clock_t begin = std::clock();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const double cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (world.rank() == 0) {
    RecordProperty("cpu_ms_per_s", static_cast<int>(cpu_s * 1e3));
    EXPECT_LT(cpu_s, 0.1);
  }
  world.barrier();
}

}  // namespace
}  // namespace mgpu::cluster
