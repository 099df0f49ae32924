// Tests that the completions of a checkpoint are those of all ranks.
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/cluster/group.hpp>

#include "recipes/grpo/rollout_state.hpp"

namespace mgpu::recipes {
namespace {

GrpoSettings settings_of(double beta) {
  GrpoSettings settings;
  settings.iterations = 2;
  settings.beta = beta;
  settings.global_batch = 4;
  settings.group_size = 2;
  settings.sampling.max_new_tokens = 3;
  return settings;
}

/// Returns a completion whose values depend on its place.
Rollout made_rollout(std::size_t place) {
  const auto number = static_cast<double>(place);
  Rollout row;
  row.ids = {90, 91, static_cast<std::int64_t>(place), 7};
  row.prompt = 2;
  row.old = {-number, -0.5};
  row.start = {-number - 0.25, -0.75};
  row.reward = place == 1 ? std::numeric_limits<double>::quiet_NaN() : number;
  row.is_truncated = place == 3;
  row.difference = 0.125 * number;
  return row;
}

TEST(RolloutStateTest, EachRankAddsItsCompletionsAndAllGetAll) {
  const cluster::Group world = cluster::Group::world();
  RolloutState state(settings_of(0.1));
  EXPECT_EQ(state.rollout(), -1);
  state.clear(5);
  for (auto place = static_cast<std::size_t>(world.rank()); place < 4;
       place += static_cast<std::size_t>(world.size()))
    state.put(place, made_rollout(place));
  state.add_ranks(world);

  EXPECT_EQ(state.rollout(), 5);
  const std::vector<std::int64_t> prompt{90, 91};
  for (std::size_t place = 0; place < 4; ++place) {
    const Rollout expected = made_rollout(place);
    const Rollout row = state.get(place, prompt);
    EXPECT_EQ(row.ids, expected.ids);
    EXPECT_EQ(row.prompt, 2);
    EXPECT_EQ(row.old, expected.old);
    EXPECT_EQ(row.start, expected.start);
    EXPECT_TRUE(row.reward == expected.reward || (place == 1 && std::isnan(row.reward)));
    EXPECT_EQ(row.is_truncated, expected.is_truncated);
    EXPECT_EQ(row.difference, expected.difference);
  }
}

TEST(RolloutStateTest, WithRefillsACheckpointHasThePositionInThePrompts) {
  const cluster::Group world = cluster::Group::world();
  GrpoSettings settings = settings_of(0.0);
  settings.refills = 2;
  GroupDraws draws(2, settings.refills);
  draws.begin(40);
  draws.refill(std::vector<double>{1, 1, 0, 1});
  RolloutState state(settings);
  state.clear(3);
  for (auto place = static_cast<std::size_t>(world.rank()); place < 4;
       place += static_cast<std::size_t>(world.size())) {
    Rollout row = made_rollout(place);
    row.first_reward = place == 2 ? std::numeric_limits<double>::quiet_NaN() : 0.25;
    row.refills = draws.refills(place / 2);
    state.put(place, row);
  }
  state.put_draws(draws);
  state.add_ranks(world);

  EXPECT_EQ(state.tensors().size(), 7U);
  EXPECT_EQ(state.next_prompt(), 43U);
  EXPECT_EQ(state.prompts(), (std::vector<std::uint64_t>{42, 41}));
  const std::vector<std::int64_t> prompt{90, 91};
  EXPECT_EQ(state.get(0, prompt).first_reward, 0.25);
  EXPECT_EQ(state.get(0, prompt).refills, 1);
  EXPECT_TRUE(std::isnan(state.get(2, prompt).first_reward));
  EXPECT_EQ(state.get(3, prompt).refills, 0);
  EXPECT_EQ(state.get(3, prompt).difference, 0.375);

  settings.iterations = 1;
  RolloutState position(settings);
  position.clear(3);
  position.put_draws(draws);
  position.add_ranks(world);
  EXPECT_EQ(position.tensors().size(), 1U);
  EXPECT_EQ(position.next_prompt(), 43U);
  EXPECT_TRUE(position.prompts().empty());
}

TEST(RolloutStateTest, ACheckpointHasOnlyWhatTheSettingsNeed) {
  EXPECT_EQ(RolloutState(settings_of(0.1)).tensors().size(), 6U);
  EXPECT_EQ(RolloutState(settings_of(0.0)).tensors().size(), 5U);
  GrpoSettings once = settings_of(0.1);
  once.iterations = 1;
  EXPECT_TRUE(RolloutState(once).tensors().empty());
  EXPECT_EQ(RolloutState(once).rollout(), -1);
}

}  // namespace
}  // namespace mgpu::recipes
