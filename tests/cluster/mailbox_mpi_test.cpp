#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include <mgpu/cluster/mailbox.hpp>

namespace mgpu::cluster {
namespace {

constexpr int kTexts = 200;

std::string text_of(int rank, int number) {
  return std::to_string(rank) + " " + std::to_string(number) +
         std::string(static_cast<std::size_t>(number % 7 == 0 ? 100'000 : number), 'x');
}

TEST(MailboxTest, AllTextsComeInTheOrderOfTheirRank) {
  const Group world = Group::world();
  Mailbox box(world);
  std::vector<std::string> texts;
  for (int number = 0; number < kTexts; ++number) {
    if (world.rank() != 0) box.send(text_of(world.rank(), number));
    if (world.rank() == 0)
      for (std::string& text : box.receive())
        texts.push_back(std::move(text));
  }
  for (std::string& text : box.close())
    texts.push_back(std::move(text));
  if (world.rank() != 0) {
    EXPECT_TRUE(texts.empty());
    return;
  }
  EXPECT_EQ(std::ssize(texts), kTexts * (world.size() - 1));
  for (int rank = 1; rank < world.size(); ++rank) {
    int number = 0;
    for (const std::string& text : texts) {
      if (!text.starts_with(std::to_string(rank) + " ")) continue;
      EXPECT_EQ(text, text_of(rank, number++));
    }
    EXPECT_EQ(number, kTexts);
  }
}

TEST(MailboxTest, NobodyWaitsForRank0) {
  const Group world = Group::world();
  Mailbox box(world);
  if (world.rank() != 0)
    for (int number = 0; number < kTexts; ++number)
      box.send(text_of(world.rank(), number));
  world.barrier();  // rank 0 has read nothing
  EXPECT_EQ(std::ssize(box.close()), world.rank() == 0 ? kTexts * (world.size() - 1) : 0);
}

// The upper half of the world makes its group three times, and the lower half once, without waiting
// for each other.
TEST(GroupOfMembersTest, IsMadeByItsMembersAlone) {
  const Group world = Group::world();
  if (world.size() < 2) GTEST_SKIP() << "needs 2 ranks";
  const int half = world.size() / 2;
  const bool is_low = world.rank() < half;
  std::vector<int> members(static_cast<std::size_t>(is_low ? half : world.size() - half));
  std::iota(members.begin(), members.end(), is_low ? 0 : half);
  for (int round = 0; round < (is_low ? 1 : 3); ++round) {
    const Group group = world.of(members, is_low ? 1 : 2);
    EXPECT_EQ(group.size(), std::ssize(members));
    EXPECT_EQ(group.rank(), world.rank() - members.front());
    EXPECT_EQ(group.world_rank(0), members.front());
    EXPECT_EQ(group.all_reduce(std::int32_t{1}), group.size());
  }
}

}  // namespace
}  // namespace mgpu::cluster
