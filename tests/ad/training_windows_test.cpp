#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/source.hpp>
#include <mgpu/ad/training_windows.hpp>
#include <mgpu/base/error.hpp>

#include "token_arrays.hpp"

namespace mgpu::ad {
namespace {

class TrainingWindowsTest : public ::testing::Test {
protected:
  TrainingWindowsTest() { play_all(*make_source("explorer", *room_, {}), histories_); }

  TrainingWindows windows(TokenKind kind, int n_transit, std::uint64_t seed = 0) const {
    return {*room_, histories_, make_window_rules(kind, n_transit, histories_.shape()), seed};
  }

  const std::unique_ptr<Environment> room_ = make_environment("darkroom", 0);
  HistorySet histories_{*room_, {.streams = 2, .episodes = 5, .horizon = 20}, 0, 7};
};

TEST_F(TrainingWindowsTest, StepContextsAreWholeEpisodes) {
  const HistoryShape long_ones{.streams = 1, .episodes = 50, .horizon = 20};

  EXPECT_EQ(make_window_rules(TokenKind::step, 240, long_ones).tokens, 240);
  EXPECT_EQ(make_window_rules(TokenKind::step, 59, long_ones).tokens, 40);
  EXPECT_EQ(make_window_rules(TokenKind::transition, 59, long_ones).tokens, 59);
}

TEST_F(TrainingWindowsTest, ContextsAreNoLongerThanHistories) {
  EXPECT_EQ(make_window_rules(TokenKind::step, 240, histories_.shape()).tokens, 100);
  EXPECT_EQ(make_window_rules(TokenKind::transition, 240, histories_.shape()).tokens, 100);
}

TEST_F(TrainingWindowsTest, ContextsThatCannotTeachAreRefused) {
  const HistoryShape one_episode{.streams = 1, .episodes = 1, .horizon = 20};
  const auto code = [](TokenKind kind, int n_transit, HistoryShape shape) -> std::string {
    try {
      make_window_rules(kind, n_transit, shape);
      return "accepted";
    } catch (const Failure& failure) {
      return failure.report().code;
    }
  };

  EXPECT_EQ(code(TokenKind::step, 40, histories_.shape()), "accepted");
  EXPECT_EQ(code(TokenKind::step, 39, histories_.shape()), "E131");
  EXPECT_EQ(code(TokenKind::step, 240, one_episode), "E131");
  EXPECT_EQ(code(TokenKind::transition, 2, one_episode), "accepted");
  EXPECT_EQ(code(TokenKind::transition, 1, one_episode), "E131");
}

TEST_F(TrainingWindowsTest, AnEpochShowsEveryWindowOnce) {
  for (const auto& [kind, items] : {std::pair{TokenKind::step, 7U * 3U},  // 5 - 3 + 1 starts
                                    std::pair{TokenKind::transition, 7U * 100U}}) {
    const TrainingWindows set = windows(kind, 60);
    ASSERT_EQ(set.size(), items);
    for (const std::uint64_t epoch : {0U, 3U}) {
      std::set<std::pair<std::size_t, std::size_t>> seen;
      for (std::uint64_t i = 0; i < items; ++i) {
        const std::uint64_t ordinal = epoch * items + i;
        const TrainingItem item = set.item(ordinal);
        seen.emplace(item.history, item.step);
        EXPECT_EQ(set.epoch(ordinal), epoch);
        EXPECT_EQ(item.step % (kind == TokenKind::step ? 20 : 1), 0U);
        EXPECT_LE(item.step + (kind == TokenKind::step ? 60 : 1), 100U);
      }
      EXPECT_EQ(seen.size(), items);
    }
  }
}

TEST_F(TrainingWindowsTest, SeedAndEpochChangeTheOrder) {
  const auto order = [](const TrainingWindows& set, std::uint64_t epoch) {
    std::vector<std::size_t> steps;
    for (std::uint64_t i = 0; i < set.size(); ++i)
      steps.push_back(set.item(epoch * set.size() + i).step);
    return steps;
  };
  const TrainingWindows set = windows(TokenKind::transition, 60);

  EXPECT_EQ(order(set, 0), order(windows(TokenKind::transition, 60), 0));
  EXPECT_NE(order(set, 0), order(set, 1));
  EXPECT_NE(order(set, 0), order(windows(TokenKind::transition, 60, 1), 0));
}

TEST_F(TrainingWindowsTest, StepTokensTellWhatTheAgentKnew) {
  const TrainingWindows set = windows(TokenKind::step, 60);
  const std::vector<std::uint64_t> ordinals{4, 0, 17};
  StepArrays arrays(ordinals.size(), 60);

  set.fill(ordinals, arrays.batch());

  for (std::size_t row = 0; row < ordinals.size(); ++row) {
    const TrainingItem item = set.item(ordinals[row]);
    const History history = histories_[item.history];
    for (std::size_t i = 0; i < 60; ++i) {
      const std::size_t t = item.step + i;
      const int here = t % 20 == 0 ? 40 : history.landing[t - 1];
      const int landed = i == 0 ? here : history.landing[t - 1];
      const StepToken expected{here / 9,
                               here % 9,
                               i == 0 ? 5 : history.action[t - 1],
                               i == 0 ? 0 : history.reward[t - 1],
                               landed / 9,
                               landed % 9,
                               history.action[t]};
      EXPECT_EQ(arrays.token(row * 60 + i), expected) << "row " << row << " token " << i;
    }
  }
}

TEST_F(TrainingWindowsTest, TransitionTokensAreThePastTheQueryAndTheAction) {
  const TrainingWindows set = windows(TokenKind::transition, 60);
  std::vector<std::uint64_t> ordinals(set.size());
  std::iota(ordinals.begin(), ordinals.end(), 0);
  TransitionArrays arrays(ordinals.size(), 60, 10);

  set.fill(ordinals, arrays.batch());

  for (std::size_t row = 0; row < ordinals.size(); ++row) {
    const TrainingItem item = set.item(ordinals[row]);
    const History history = histories_[item.history];
    const auto state = [&](std::size_t t) { return t % 20 == 0 ? 40 : history.landing[t - 1]; };
    const std::size_t length = std::min<std::size_t>(item.step, 59);
    ASSERT_EQ(arrays.length[row], static_cast<std::int32_t>(length));
    ASSERT_EQ(arrays.query[row], state(item.step));
    ASSERT_EQ(arrays.target[row], history.action[item.step]);
    for (std::size_t i = 0; i < 59; ++i) {
      std::vector<float> expected(10, 0.0F);
      if (i < length) {
        const std::size_t t = item.step - length + i;
        expected[0] = static_cast<float>(room_->point(state(t)).x);
        expected[1] = static_cast<float>(room_->point(state(t)).y);
        expected[2 + history.action[t]] = 1.0F;
        expected[7] = static_cast<float>(history.reward[t]);
        expected[8] = static_cast<float>(room_->point(history.landing[t]).x);
        expected[9] = static_cast<float>(room_->point(history.landing[t]).y);
      }
      ASSERT_EQ(arrays.features_of(row, i), expected) << "row " << row << " transition " << i;
    }
  }
}

TEST_F(TrainingWindowsTest, RefusesTheOtherKindOfTokensAndMisfits) {
  const std::vector<std::uint64_t> ordinals{0};
  StepArrays steps(1, 60);
  TransitionArrays transitions(1, 60, 10);
  const HistorySet nothing(*room_, histories_.shape(), 0, 0);
  const WindowRules too_long{.kind = TokenKind::step, .tokens = 120, .horizon = 20};

  EXPECT_THROW(windows(TokenKind::step, 60).fill(ordinals, transitions.batch()), Error);
  EXPECT_THROW(windows(TokenKind::transition, 60).fill(ordinals, steps.batch()), Error);
  EXPECT_THROW(TrainingWindows(*room_, nothing, {TokenKind::step, 40, 20}, 0), Error);
  EXPECT_THROW(TrainingWindows(*room_, histories_, too_long, 0), Error);
}

}  // namespace
}  // namespace mgpu::ad
