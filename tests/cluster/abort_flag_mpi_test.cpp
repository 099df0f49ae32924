#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <mgpu/cluster/abort_flag.hpp>

namespace mgpu::cluster {
namespace {

void wait_for(AbortFlag& abort_flag) {
  while (!abort_flag.is_raised())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(AbortFlagTest, OneRankIsHeardByAllOfItsLoopOnly) {
  const Group world = Group::world();
  for (int ringer = 0; ringer < world.size(); ++ringer) {
    AbortFlag abort_flag(world);
    AbortFlag next(world);
    if (world.rank() == ringer) abort_flag.raise();
    wait_for(abort_flag);
    EXPECT_TRUE(abort_flag.is_raised());
    EXPECT_FALSE(next.is_raised());
    world.barrier();
  }
}

TEST(AbortFlagTest, AllMayRingAndTwice) {
  const Group world = Group::world();
  AbortFlag abort_flag(world);
  abort_flag.raise();
  abort_flag.raise();
  EXPECT_TRUE(abort_flag.is_raised());
  world.barrier();
}

TEST(AbortFlagTest, IsSilentByItself) {
  const Group world = Group::world();
  AbortFlag abort_flag(world);
  EXPECT_FALSE(abort_flag.is_raised());
}

}  // namespace
}  // namespace mgpu::cluster
