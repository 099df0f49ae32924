#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <mgpu/cluster/alarm.hpp>

namespace mgpu::cluster {
namespace {

void wait_for(Alarm& alarm) {
  while (!alarm.rang())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(AlarmTest, OneRankIsHeardByAllOfItsLoopOnly) {
  const Group world = Group::world();
  for (int ringer = 0; ringer < world.size(); ++ringer) {
    Alarm alarm(world);
    Alarm next(world);
    if (world.rank() == ringer) alarm.ring();
    wait_for(alarm);
    EXPECT_TRUE(alarm.rang());
    EXPECT_FALSE(next.rang());
    world.barrier();
  }
}

TEST(AlarmTest, AllMayRingAndTwice) {
  const Group world = Group::world();
  Alarm alarm(world);
  alarm.ring();
  alarm.ring();
  EXPECT_TRUE(alarm.rang());
  world.barrier();
}

TEST(AlarmTest, IsSilentByItself) {
  const Group world = Group::world();
  Alarm alarm(world);
  EXPECT_FALSE(alarm.rang());
}

}  // namespace
}  // namespace mgpu::cluster
