#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <mgpu/cluster/alarm.hpp>

namespace mgpu::cluster {
namespace {

TEST(AlarmTest, OneRankIsHeardByAllAndSettlesToSilence) {
  const Group world = Group::world();
  Alarm alarm(world);
  for (int round = 0; round < 3; ++round) {
    const int ringer = round % world.size();
    if (world.rank() == ringer) alarm.ring();
    while (!alarm.rang())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    alarm.settle();
    EXPECT_FALSE(alarm.rang());
    world.barrier();  // nobody rings for the next round before all have looked
  }
}

TEST(AlarmTest, SettlesWhenAllRingAndNobodyListened) {
  const Group world = Group::world();
  Alarm alarm(world);
  alarm.ring();
  alarm.ring();
  alarm.settle();
  EXPECT_FALSE(alarm.rang());
}

TEST(AlarmTest, IsSilentByItself) {
  const Group world = Group::world();
  Alarm alarm(world);
  EXPECT_FALSE(alarm.rang());
  alarm.settle();
}

}  // namespace
}  // namespace mgpu::cluster
