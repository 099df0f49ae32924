// Tests messages of one rank that the others receive later.
#include <string>

#include <gtest/gtest.h>

#include <mgpu/cluster/announcements.hpp>

namespace mgpu::cluster {
namespace {

TEST(AnnouncementsTest, AllHearTheSpeakersWordsInTheirOrder) {
  const Group world = Group::world();
  const int speaker = world.size() - 1;
  Announcements words(world, speaker, 60.0);
  const std::string large(1 << 20, 'x');  // too large for MPI to buffer it

  if (words.is_speaker()) {
    words.post("one");
    words.post("");
    words.post(large);
    words.post(std::string("t\0ee", 4));
  }

  EXPECT_EQ(words.hear(), "one");
  EXPECT_EQ(words.hear(), "");
  EXPECT_TRUE(words.hear() == large);
  EXPECT_EQ(words.hear(), std::string("t\0ee", 4));
  world.barrier();
}

TEST(AnnouncementsTest, SilenceIsAFailureAtTheDeadline) {
  const Group world = Group::world();
  Announcements words(world, 0, 0.1);

  if (world.rank() == 0) {
    EXPECT_THROW(words.hear(), Error);  // it would wait for itself
  } else {
    EXPECT_THROW(words.post("mine"), Error);
    EXPECT_THROW(words.hear(), TimeoutError);
  }
  world.barrier();
}

}  // namespace
}  // namespace mgpu::cluster
