#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/report/gather.hpp>
#include <mgpu/report/rank_log.hpp>

namespace mgpu::report {
namespace {

using cluster::Group;

TEST(GatherTest, TextsArriveInRankOrderOnRankZero) {
  const Group world = Group::world();
  const std::string mine(static_cast<std::size_t>(world.rank()) * 3, 'x');  // rank 0: nothing

  const std::vector<std::string> all = gather_texts(world, mine);

  ASSERT_EQ(all.size(), world.rank() == 0 ? static_cast<std::size_t>(world.size()) : 0U);
  for (std::size_t r = 0; r < all.size(); ++r)
    EXPECT_EQ(all[r], std::string(r * 3, 'x'));
}

TEST(GatherTest, EqualWarningsOfAllRanksAreOneLine) {
  const Group world = Group::world();
  std::vector<std::string> mine{"one core per rank", "one core per rank"};
  if (world.rank() == world.size() - 1) mine.emplace_back("clock \"thermal\"\n");

  const std::vector<SharedWarning> shared = gather_warnings(world, mine);

  if (world.rank() != 0) {
    EXPECT_TRUE(shared.empty());
    return;
  }
  ASSERT_EQ(shared.size(), 2U);
  const std::string last = std::to_string(world.size() - 1);
  const std::string who = world.size() == 1 ? "rank 0" : "ranks 0-" + last;
  EXPECT_EQ(std::get<std::string>(shared[0].as_event().fields[0].second),
            who + ": one core per rank");
  EXPECT_EQ(std::get<std::string>(shared[1].as_event().fields[0].second),
            "rank " + last + ": clock \"thermal\"\n");
}

}  // namespace
}  // namespace mgpu::report
