#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <gtest/gtest.h>

#include <mgpu/ad/ad_batch.hpp>
#include <mgpu/ad/ad_rollouts.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/random_streams.hpp>

#include "formula_batch.hpp"
#include "ring.hpp"

// Shapes: A = actions. One episode is 4 steps, a window at most 12 tokens.
namespace mgpu::ad {
namespace {

using Steps = std::vector<Transition>;

constexpr Controls kSeesAll{};
constexpr Controls kHidden{.hide_rewards = true};
constexpr Controls kCleared{.clear_context = true};
constexpr Controls kBoth{.hide_rewards = true, .clear_context = true};

class AdRolloutsTest : public ::testing::TestWithParam<TokenKind> {
protected:
  AdRolloutsTest() {
    set_formula_weights(model_.parameters());
    if (sees_steps()) return;
    // A reward of 0 or 1 would have little weight compared with coordinates of 0 to 3.
    const at::NoGradGuard no_grad;
    const std::int64_t reward = 2 + ring_.num_actions();  // x, y, one-hot action, reward
    model_.parameters().parameter("transition_embed.weight").select(1, reward).mul_(20.0);
  }

  static bool sees_steps() { return GetParam() == TokenKind::step; }

  std::vector<RolloutRecord> play_runs(std::vector<Rollout> runs) const {
    return play(model_, ring_, rules_, runs, settings_);
  }

  /// Returns all steps, reconstructed from the path.
  Steps steps_of(const Rollout& run, const RolloutRecord& record) const {
    Steps steps;
    int state = ring_.start_state();
    for (std::size_t t = 0; t < record.path.size(); ++t) {
      if (t % Ring::kHorizon == 0) state = ring_.start_state();
      const int next = record.path[t];
      const int action = ring_.action_between(state, next);
      EXPECT_GE(action, 0) << "no action leads from " << state << " to " << next;
      const int reward = ring_.step(run.task, state, action).reward;
      steps.push_back({static_cast<std::uint8_t>(state), static_cast<std::uint8_t>(action),
                       static_cast<std::uint8_t>(reward), record.path[t]});
      state = next;
    }
    return steps;
  }

  /// Returns the first step in the agent's memory when it acts in step t.
  std::size_t oldest_seen(std::size_t t, Controls controls) const {
    const std::size_t episode = t / Ring::kHorizon;
    const auto memory = static_cast<std::size_t>(rules_.memory());
    const std::size_t cleared = controls.clear_context ? episode * Ring::kHorizon : 0;
    if (!sees_steps()) return std::max(cleared, t - std::min(t, memory));
    const std::size_t kept = memory / Ring::kHorizon;  // episodes, including the current one
    return std::max(cleared, (episode + 1 - std::min(episode + 1, kept)) * Ring::kHorizon);
  }

  /// Returns the logits of the next action, [A], by one forward pass over all tokens, without a
  /// cache.
  at::Tensor logits_after(std::span<const Transition> past, std::uint8_t state) const {
    const TokenWriter writer(ring_);
    if (sees_steps()) {
      const auto tokens = static_cast<std::int64_t>(past.size()) + 1;
      StepBuffers buffers(1, tokens);
      for (std::size_t i = 0; i <= past.size(); ++i)
        writer.write(buffers.batch(), i, i < past.size() ? past[i].state : state,
                     i == 0 ? nullptr : &past[i - 1]);
      return model_.forward(buffers.to_model(Device{}, tokens))[0][tokens - 1];
    }
    const std::size_t width = writer.num_features();
    TransitionBuffers buffers(1, rules_.tokens, static_cast<std::int64_t>(width));
    for (std::size_t i = 0; i < past.size(); ++i)
      writer.write(buffers.batch().features + i * width, past[i]);
    buffers.batch().length[0] = static_cast<std::int32_t>(past.size());
    buffers.batch().query[0] = state;
    return model_.forward(buffers.to_model(Device{}))[0];
  }

  /// Checks that every action is the one whose share of [0, 1) contains the uniform of its step.
  /// Cached and uncached logits are around 1 and differ by float rounding, 1e-6; a wrong token
  /// changes them by 0.1.
  void expect_drawn_from_plain_forwards(const Rollout& run, const RolloutRecord& record) const {
    Steps seen = steps_of(run, record);
    if (run.controls.hide_rewards)
      for (Transition& step : seen)
        step.reward = 0;
    const RandomStream draws(settings_.seed, Purpose::sampling, settings_.round, run.sample);
    for (std::size_t t = 0; t < seen.size(); ++t) {
      const std::size_t oldest = oldest_seen(t, run.controls);
      const at::Tensor logits =
          logits_after(std::span(seen).subspan(oldest, t - oldest), seen[t].state);
      const at::Tensor ends = logits.to(at::kDouble).softmax(0).cumsum(0);  // [A]
      const auto action = static_cast<std::int64_t>(seen[t].action);
      const double begin = action == 0 ? 0.0 : ends[action - 1].item<double>();
      const double uniform = draws.uniform(t);
      EXPECT_GE(uniform, begin - 1e-5) << "run " << run.sample << " step " << t;
      EXPECT_LT(uniform, ends[action].item<double>() + 1e-5)
          << "run " << run.sample << " step " << t;
    }
  }

  Ring ring_;
  AdTransformer model_{
      formula_config(GetParam() == TokenKind::step ? TokenKind::step : TokenKind::transition,
                     AttentionKind::flash),
      Device{}, 1};
  WindowRules rules_ =
      make_window_rules(GetParam(), 12, {.streams = 1, .episodes = 8, .horizon = Ring::kHorizon});
  RolloutSettings settings_{.episodes = 8, .seed = 5, .round = 3};
};

TEST_P(AdRolloutsTest, CachedPlayIsDrawnFromForwardsWithoutACache) {
  const std::vector<Rollout> runs{{10, 0, kSeesAll}, {11, 1, kSeesAll}, {12, 2, kSeesAll},
                                  {13, 3, kSeesAll}, {14, 0, kSeesAll}, {15, 1, kSeesAll}};

  const std::vector<RolloutRecord> records = play_runs(runs);

  ASSERT_EQ(records.size(), runs.size());
  for (std::size_t row = 0; row < runs.size(); ++row)
    expect_drawn_from_plain_forwards(runs[row], records[row]);
}

// Rows with cleared context restart while the other rows continue.
TEST_P(AdRolloutsTest, EveryRowOfABatchIsUnderItsOwnControls) {
  const std::vector<Rollout> runs{{20, 0, kSeesAll}, {21, 1, kHidden},  {22, 2, kCleared},
                                  {23, 3, kBoth},    {24, 0, kCleared}, {25, 1, kHidden}};

  const std::vector<RolloutRecord> records = play_runs(runs);

  ASSERT_EQ(records.size(), runs.size());
  for (std::size_t row = 0; row < runs.size(); ++row)
    expect_drawn_from_plain_forwards(runs[row], records[row]);
}

TEST_P(AdRolloutsTest, AnAgentActsOtherwiseOnceAControlTakesSomethingFromIt) {
  const auto records =
      play_runs({{30, 0, kSeesAll}, {30, 0, kHidden}, {30, 0, kCleared}, {30, 0, kBoth}});
  const Steps steps = steps_of({30, 0, kSeesAll}, records[0]);
  const auto rewarded = std::find_if(steps.begin(), steps.end(),
                                     [](const Transition& step) { return step.reward == 1; });
  const auto first_difference = [&](std::size_t row) {
    const auto& path = records[0].path;
    return std::mismatch(path.begin(), path.end(), records[row].path.begin()).first - path.begin();
  };
  const auto steps_played = static_cast<std::ptrdiff_t>(steps.size());

  ASSERT_NE(rewarded, steps.end()) << "the run shows nothing";
  EXPECT_GT(first_difference(1), rewarded - steps.begin());
  EXPECT_LT(first_difference(1), steps_played);
  EXPECT_GE(first_difference(2), Ring::kHorizon);
  EXPECT_LT(first_difference(2), steps_played);
  EXPECT_NE(records[3].path, records[1].path);
  EXPECT_NE(records[3].path, records[2].path);
}

TEST_P(AdRolloutsTest, ReturnsAreWhatTheEnvironmentPaidWhateverTheAgentSees) {
  const std::vector<Rollout> runs{{40, 1, kSeesAll}, {41, 2, kBoth}};

  const std::vector<RolloutRecord> records = play_runs(runs);

  for (std::size_t row = 0; row < runs.size(); ++row) {
    const Steps steps = steps_of(runs[row], records[row]);
    ASSERT_EQ(steps.size(), 8U * Ring::kHorizon);
    std::vector<std::int32_t> paid(8, 0);
    for (std::size_t t = 0; t < steps.size(); ++t)
      paid[t / Ring::kHorizon] += steps[t].reward;
    EXPECT_EQ(records[row].returns, paid);
    EXPECT_GT(*std::max_element(paid.begin(), paid.end()), 0) << "nothing was paid";
  }
}

TEST_P(AdRolloutsTest, ARunIsTheSameAloneAndAmongOthers) {
  const Rollout run{50, 2, kSeesAll};
  const auto among = play_runs({{51, 0, kCleared}, {52, 3, kSeesAll}, run, {53, 1, kBoth}});

  const auto alone = play_runs({run});

  EXPECT_EQ(alone[0].path, among[2].path);
  EXPECT_EQ(alone[0].returns, among[2].returns);
}

TEST_P(AdRolloutsTest, SeedRoundAndSampleChooseTheDraws) {
  const auto path = [&](RolloutSettings settings, std::uint64_t sample) {
    const std::vector<Rollout> runs{{sample, 0, kSeesAll}};
    return play(model_, ring_, rules_, runs, settings)[0].path;
  };
  const auto first = path(settings_, 60);

  EXPECT_EQ(path(settings_, 60), first);
  EXPECT_NE(path(settings_, 61), first);
  EXPECT_NE(path({.episodes = 8, .seed = 6, .round = 3}, 60), first);
  EXPECT_NE(path({.episodes = 8, .seed = 5, .round = 4}, 60), first);
}

TEST_P(AdRolloutsTest, LogitsThatAreNoDistributionEndThePlay) {
  const at::NoGradGuard no_grad;
  model_.parameters().parameter("head.bias").fill_(std::numeric_limits<float>::quiet_NaN());

  try {
    play_runs({{70, 0, kSeesAll}});
    FAIL() << "played without a distribution";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E704");
    EXPECT_EQ(failure.report().exit, ExitCode::numeric);
  }
}

INSTANTIATE_TEST_SUITE_P(Tokens, AdRolloutsTest,
                         ::testing::Values(TokenKind::step, TokenKind::transition),
                         [](const ::testing::TestParamInfo<TokenKind>& tokens) {
                           return tokens.param == TokenKind::step ? "Step" : "Transition";
                         });

}  // namespace
}  // namespace mgpu::ad
