#include "watch/culprit.hpp"

#include <gtest/gtest.h>

namespace mgpu::watch {
namespace {

constexpr std::uint64_t kWorld = 7;
constexpr cluster::CallFields kSum = {1, 12, 0, 0};  // all_reduce of 12 f32, sum
constexpr cluster::CallFields kBarrier = {0, -1, 0, 0};

RankState in_collective(std::uint64_t number, const cluster::CallFields& words = kSum) {
  RankState rank;
  rank.is_silent = true;
  rank.silent_s = 5.0;
  rank.groups = {{kWorld, number, /*is_inside=*/true, cluster::LoggedGroup::kNoPeer, words}};
  rank.past = {{kWorld, number, words}};
  return rank;
}

RankState in_call_with(int peer, std::uint64_t number) {
  RankState rank = in_collective(number);
  rank.groups.push_back({kWorld + 1, 0, true, peer, {6, 1, 0, 0}});
  rank.groups.front().is_inside = false;
  return rank;
}

RankState outside(std::uint64_t number, bool is_silent = true) {
  RankState rank = in_collective(number);
  rank.groups.front().is_inside = false;
  rank.is_silent = is_silent;
  return rank;
}

TEST(JudgeTest, NobodyHangsWhileNobodyIsSilent) {
  RankState rank = in_collective(3);
  rank.is_silent = false;
  EXPECT_FALSE(find_culprit(std::vector{rank, rank}));
}

TEST(JudgeTest, WhoWaitsForARankThatGetsOnDoesNotHang) {
  const std::vector ranks{in_collective(3), in_collective(3), outside(2, /*is_silent=*/false)};
  EXPECT_FALSE(find_culprit(ranks));
}

TEST(JudgeTest, WaitingForOneWhoWaitsForARankThatGetsOnIsNoHangEither) {
  const std::vector ranks{in_collective(3), in_call_with(2, 2), outside(2, /*is_silent=*/false)};
  EXPECT_FALSE(find_culprit(ranks));
}

TEST(JudgeTest, TheRankOutsideTheCollectiveIsTheCulprit) {
  const std::vector ranks{in_collective(3), in_collective(3), outside(2), in_collective(3)};
  const auto culprit = find_culprit(ranks);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->rank, 2);
  EXPECT_EQ(culprit->sign, Sign::outside);
}

TEST(JudgeTest, AStoppedProcessGoesBeforeOneThatIsOutside) {
  std::vector ranks{outside(2), in_collective(3), in_collective(3)};
  ranks[1].is_stopped = true;
  const auto culprit = find_culprit(ranks);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->rank, 1);
  EXPECT_EQ(culprit->sign, Sign::stopped);
}

TEST(JudgeTest, TheMinorityOfAMismatchIsNamedWithBothCalls) {
  const std::vector ranks{in_collective(3), in_collective(3, kBarrier), in_collective(3)};
  const auto culprit = find_culprit(ranks);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->rank, 1);
  EXPECT_EQ(culprit->sign, Sign::mismatch);
  EXPECT_EQ(culprit->difference, "rank 1 calls barrier, the others call all_reduce of 12 f32, sum");
}

TEST(JudgeTest, AMismatchIsFoundAfterTheRankHasGoneOn) {
  RankState ahead = in_collective(4);
  ahead.past.push_back({kWorld, 3, kBarrier});
  const std::vector ranks{in_collective(3), in_collective(3), ahead};
  const auto culprit = find_culprit(ranks);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->rank, 2);
  EXPECT_EQ(culprit->sign, Sign::mismatch);
}

TEST(JudgeTest, ARankThatReceivesWhatNobodySendsIsTheOneThatMostWaitFor) {
  const std::vector ranks{in_collective(3), in_collective(3), in_call_with(0, 2)};
  const auto culprit = find_culprit(ranks);
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->rank, 2);
  EXPECT_EQ(culprit->sign, Sign::awaited);
}

TEST(JudgeTest, ARankThatHasLeftIsNamedWhenOthersWaitForIt) {
  RankState left = outside(2);
  left.is_here = false;
  const auto culprit = find_culprit(std::vector{in_collective(3), left});
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->rank, 1);
  EXPECT_EQ(culprit->sign, Sign::left);
}

TEST(JudgeTest, WhereAllHaveComeNothingMoves) {
  const auto culprit = find_culprit(std::vector{in_collective(3), in_collective(3)});
  ASSERT_TRUE(culprit);
  EXPECT_EQ(culprit->sign, Sign::stuck);
}

TEST(JudgeTest, ACallThatARankHasJustComeToMayBeUnderWay) {
  RankState late = in_collective(3);
  late.is_silent = false;
  EXPECT_FALSE(find_culprit(std::vector{in_collective(3), late}));
}

}  // namespace
}  // namespace mgpu::watch
