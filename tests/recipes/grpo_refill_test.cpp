// Tests which groups recipe grpo replaces, and the messages that carry the new completions.
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "recipes/grpo/group_draws.hpp"
#include "recipes/grpo/rollout_bytes.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kUnscored = std::numeric_limits<double>::quiet_NaN();

TEST(GroupDrawsTest, GroupsWhoseRewardsAreEqualGetTheNextPrompts) {
  GroupDraws draws(4, 2);
  draws.begin(10);
  EXPECT_THAT(draws.numbers(), ElementsAre(10, 11, 12, 13));
  const std::vector<double> first{1, 1, 0, 1, kUnscored, 1, 0, 2};
  EXPECT_THAT(draws.refill(first), ElementsAre(0, 2));
  EXPECT_THAT(draws.numbers(), ElementsAre(14, 11, 15, 13));
  const std::vector<double> second{1, 1, 0, 1, 0, 1, 0, 2};
  EXPECT_THAT(draws.refill(second), ElementsAre(0));
  EXPECT_THAT(draws.numbers(), ElementsAre(16, 11, 15, 13));
  EXPECT_EQ(draws.next(), 17U);
  EXPECT_EQ(draws.refills(0), 2);
  EXPECT_EQ(draws.refills(1), 0);
  EXPECT_EQ(draws.refills(2), 1);
}

TEST(GroupDrawsTest, NoGroupIsReplacedBeyondTheLimit) {
  const std::vector<double> equal(4, 0.5);
  GroupDraws draws(2, 1);
  draws.begin(0);
  EXPECT_THAT(draws.refill(equal), ElementsAre(0, 1));
  EXPECT_THAT(draws.refill(equal), IsEmpty());
  EXPECT_THAT(draws.numbers(), ElementsAre(2, 3));
  draws.begin(draws.next());
  EXPECT_EQ(draws.refills(0), 0);
  EXPECT_THAT(draws.refill(equal), ElementsAre(0, 1));
  EXPECT_THAT(draws.numbers(), ElementsAre(6, 7));
  EXPECT_THAT(GroupDraws(2, 0).refill(equal), IsEmpty());
}

TEST(GroupDrawsTest, ARestoredOneContinuesWithTheSamePrompts) {
  GroupDraws draws(2, 3);
  draws.restore({7, 9}, 12);
  EXPECT_THAT(draws.numbers(), ElementsAre(7, 9));
  draws.begin(draws.next());
  EXPECT_THAT(draws.numbers(), ElementsAre(12, 13));
  draws.restore({}, 20);
  EXPECT_EQ(draws.next(), 20U);
}

TEST(RolloutBytesTest, AMessageCarriesCompletionsAndRewards) {
  Rollout row;
  row.ids = {90, 91, 4, 7, 2};
  row.prompt = 2;
  row.sampled = {-0.5, -1.25, -2.0};
  row.reward = 0.75;
  row.is_truncated = true;
  Rollout unscored = row;
  unscored.reward = kUnscored;
  unscored.is_truncated = false;
  std::string bytes;
  append_rollout(5, row, bytes);
  append_reward(3, unscored, bytes);
  append_rollout(0, unscored, bytes);

  const std::vector<SentRollout> sent = rollouts_from(bytes);

  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].place, 5U);
  EXPECT_EQ(sent[0].reward, 0.75);
  EXPECT_TRUE(sent[0].is_truncated);
  EXPECT_THAT(sent[0].ids, ElementsAre(4, 7, 2));
  EXPECT_THAT(sent[0].sampled, ElementsAre(-0.5, -1.25, -2.0));
  EXPECT_EQ(sent[1].place, 3U);
  EXPECT_TRUE(std::isnan(sent[1].reward));
  EXPECT_THAT(sent[1].ids, IsEmpty());
  EXPECT_FALSE(sent[2].is_truncated);
  EXPECT_THAT(sent[2].ids, ElementsAre(4, 7, 2));
  EXPECT_THAT(rollouts_from(""), IsEmpty());
}

}  // namespace
}  // namespace mgpu::recipes
