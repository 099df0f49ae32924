// Tests messages of one rank that the others receive later.
#include <string>

#include <gtest/gtest.h>

#include <mgpu/cluster/ordered_broadcast.hpp>

namespace mgpu::cluster {
namespace {

TEST(OrderedBroadcastTest, AllHearTheSpeakersWordsInTheirOrder) {
  const Group world = Group::world();
  const int root = world.size() - 1;
  OrderedBroadcast messages(world, root, 60.0);
  const std::string large(1 << 20, 'x');  // too large for MPI to buffer it

  if (messages.is_root()) {
    messages.post("one");
    messages.post("");
    messages.post(large);
    messages.post(std::string("t\0ee", 4));
  }

  EXPECT_EQ(messages.receive(), "one");
  EXPECT_EQ(messages.receive(), "");
  EXPECT_TRUE(messages.receive() == large);
  EXPECT_EQ(messages.receive(), std::string("t\0ee", 4));
  world.barrier();
}

TEST(OrderedBroadcastTest, SilenceIsAFailureAtTheDeadline) {
  const Group world = Group::world();
  OrderedBroadcast messages(world, 0, 0.1);

  if (world.rank() == 0) {
    EXPECT_THROW(messages.receive(), Error);  // it would wait for itself
  } else {
    EXPECT_THROW(messages.post("mine"), Error);
    EXPECT_THROW(messages.receive(), TimeoutError);
  }
  world.barrier();
}

}  // namespace
}  // namespace mgpu::cluster
