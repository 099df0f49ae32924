#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/rollout_memory.hpp>
#include <mgpu/ad/source.hpp>
#include <mgpu/ad/training_windows.hpp>
#include <mgpu/base/error.hpp>

#include "token_arrays.hpp"

namespace mgpu::ad {
namespace {

constexpr std::size_t kHorizon = 20;
constexpr std::size_t kTokens = 60;  // three of the five episodes
constexpr int kStart = 40;

/// Replays stored histories through a memory and inspects it before every step.
class RolloutMemoryTest : public ::testing::Test {
protected:
  RolloutMemoryTest() { play_all(*make_source("explorer", *room_, {.epsilon = 0.3}), histories_); }

  TrainingWindows windows(TokenKind kind) const {
    return {*room_, histories_, make_window_rules(kind, kTokens, histories_.shape()), 0};
  }

  /// Maps the history and step of each training item to its ordinal in the first epoch.
  static std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> ordinals(
      const TrainingWindows& set) {
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> of;
    for (std::uint64_t i = 0; i < set.size(); ++i)
      of[{set.item(i).history, set.item(i).step}] = i;
    return of;
  }

  template <class Look>
  static void live(RolloutMemory& memory, const History& history, Look look) {
    for (std::size_t t = 0; t < history.action.size(); ++t) {
      if (t % kHorizon == 0) memory.begin_episode(kStart);
      look(t);
      memory.record(history.action[t], history.reward[t], history.landing[t]);
    }
  }

  const std::unique_ptr<Environment> room_ = make_environment("darkroom", 0);
  HistorySet histories_{*room_, {.streams = 2, .episodes = 5, .horizon = 20}, 0, 6};
};

TEST_F(RolloutMemoryTest, StepTokensAreThoseOfTheTrainingWindow) {
  const TrainingWindows set = windows(TokenKind::step);
  const auto ordinal = ordinals(set);
  for (std::size_t h = 0; h < histories_.size(); ++h) {
    RolloutMemory memory(set.writer(), set.rules());
    live(memory, histories_[h], [&](std::size_t t) {
      const std::size_t episode = t / kHorizon;
      const std::size_t begin = episode < 3 ? 0 : (episode - 2) * kHorizon;
      const std::vector<std::uint64_t> item{ordinal.at({h, begin})};
      StepArrays trained(1, kTokens);
      StepArrays remembered(2, kTokens);
      StepBatch without_target = trained.batch();
      without_target.target = nullptr;

      set.fill(item, without_target);
      memory.write(remembered.batch(), 1);

      ASSERT_EQ(memory.num_past(), t - begin);
      for (std::size_t i = 0; i <= t - begin; ++i)
        ASSERT_EQ(remembered.token(kTokens + i), trained.token(i))
            << "step " << t << " token " << i;
      for (std::size_t i = t - begin + 1; i < kTokens; ++i)
        ASSERT_EQ(remembered.token(kTokens + i).x, -1) << "written behind the query";
    });
  }
}

TEST_F(RolloutMemoryTest, TransitionTokensAreThoseOfTheTrainingWindow) {
  const TrainingWindows set = windows(TokenKind::transition);
  const auto ordinal = ordinals(set);
  for (std::size_t h = 0; h < histories_.size(); ++h) {
    RolloutMemory memory(set.writer(), set.rules());
    live(memory, histories_[h], [&](std::size_t t) {
      const std::vector<std::uint64_t> item{ordinal.at({h, t})};
      TransitionArrays trained(1, kTokens, 10);
      TransitionArrays remembered(1, kTokens, 10);

      set.fill(item, trained.batch());
      memory.write(remembered.batch(), 0);

      ASSERT_EQ(remembered.features, trained.features) << "step " << t;
      ASSERT_EQ(remembered.length, trained.length);
      ASSERT_EQ(remembered.query, trained.query);
    });
  }
}

TEST_F(RolloutMemoryTest, TheLastTokenIsTheEndOfTheWindow) {
  const TrainingWindows set = windows(TokenKind::step);
  RolloutMemory memory(set.writer(), set.rules());
  live(memory, histories_[0], [&](std::size_t t) {
    StepArrays whole(1, kTokens);
    StepArrays last(1, 1);

    memory.write(whole.batch(), 0);
    memory.write_last(last.batch(), 0);

    EXPECT_EQ(last.token(0), whole.token(memory.num_past())) << "step " << t;
  });
}

TEST_F(RolloutMemoryTest, CachedKeysStandUntilAnEpisodeIsDropped) {
  const TrainingWindows set = windows(TokenKind::step);
  RolloutMemory memory(set.writer(), set.rules());
  live(memory, histories_[0], [&](std::size_t t) {
    const bool first_of_a_window = t == 0 || t == 60 || t == 80;
    EXPECT_EQ(memory.continues(), !first_of_a_window) << "step " << t;
  });
}

TEST_F(RolloutMemoryTest, HiddenRewardsReadZeroAndNothingElseChanges) {
  const TrainingWindows steps = windows(TokenKind::step);
  const TrainingWindows transitions = windows(TokenKind::transition);
  RolloutMemory seen(steps.writer(), steps.rules());
  RolloutMemory hidden(steps.writer(), steps.rules(), {.hide_rewards = true});
  RolloutMemory hidden_too(steps.writer(), transitions.rules(), {.hide_rewards = true});
  const History history = histories_[0];
  int rewards = 0;

  live(seen, history, [&](std::size_t t) {
    if (t % kHorizon == 0) {
      hidden.begin_episode(kStart);
      hidden_too.begin_episode(kStart);
    }
    StepArrays with(1, 1);
    StepArrays without(1, 1);
    TransitionArrays features(1, kTokens, 10);
    seen.write_last(with.batch(), 0);
    hidden.write_last(without.batch(), 0);
    hidden_too.write(features.batch(), 0);
    StepToken expected = with.token(0);
    rewards += std::exchange(expected.previous_reward, 0);
    EXPECT_EQ(without.token(0), expected) << "step " << t;
    for (std::size_t i = 0; i < hidden_too.num_past(); ++i)
      EXPECT_EQ(features.features_of(0, i)[7], 0.0F);
    hidden.record(history.action[t], history.reward[t], history.landing[t]);
    hidden_too.record(history.action[t], history.reward[t], history.landing[t]);
  });

  EXPECT_GT(rewards, 0) << "the history shows nothing";
}

TEST_F(RolloutMemoryTest, AClearedContextHoldsOneEpisode) {
  const TrainingWindows set = windows(TokenKind::step);
  RolloutMemory memory(set.writer(), set.rules(), {.clear_context = true});
  live(memory, histories_[0], [&](std::size_t t) {
    EXPECT_EQ(memory.num_past(), t % kHorizon);
    EXPECT_EQ(memory.continues(), t % kHorizon != 0) << "step " << t;
    if (t % kHorizon != 0) return;
    StepArrays first(1, 1);
    memory.write_last(first.batch(), 0);
    EXPECT_EQ(first.token(0), (StepToken{4, 4, 5, 0, 4, 4, -1}));
  });
}

TEST_F(RolloutMemoryTest, ASlidingMemoryIsClearedToo) {
  const TrainingWindows set = windows(TokenKind::transition);
  RolloutMemory memory(set.writer(), set.rules(), {.clear_context = true});

  live(memory, histories_[0],
       [&](std::size_t t) { EXPECT_EQ(memory.num_past(), t % kHorizon) << "step " << t; });
}

TEST_F(RolloutMemoryTest, RefusesStepsOutsideOfEpisodes) {
  const TrainingWindows set = windows(TokenKind::step);
  RolloutMemory memory(set.writer(), set.rules());
  StepArrays steps(1, kTokens);
  TransitionArrays transitions(1, kTokens, 10);

  EXPECT_THROW(memory.record(0, 0, 0), Error);
  EXPECT_THROW(memory.write_last(steps.batch(), 0), Error);
  memory.begin_episode(kStart);
  EXPECT_THROW(memory.begin_episode(kStart), Error);
  EXPECT_THROW(memory.write(transitions.batch(), 0), Error);
}

TEST_F(RolloutMemoryTest, RefusesRewardsWithoutAStepToken) {
  const TokenWriter writer(*room_);
  StepArrays steps(1, kTokens);
  const Transition most{.state = 40, .action = 0, .reward = 2, .landing = 40};
  EXPECT_NO_THROW(writer.write(steps.batch(), 1, 40, &most));
  const Transition more{.state = 40, .action = 0, .reward = 3, .landing = 40};
  EXPECT_THROW(writer.write(steps.batch(), 1, 40, &more), Failure);
}

}  // namespace
}  // namespace mgpu::ad
