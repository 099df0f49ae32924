#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/source.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu::ad {
namespace {

constexpr std::size_t kHorizon = 20;

/// One history of any task, including test tasks, in memory that the object owns.
struct Played {
  Played(const Source& source, int task, std::uint64_t id, int episodes)
      : action(kHorizon * static_cast<std::size_t>(episodes)),
        reward(action.size()),
        landing(action.size()) {
    source.play(id, {task, 0, action, reward, landing});
  }

  std::vector<std::uint8_t> action;
  std::vector<std::uint8_t> reward;
  std::vector<std::uint8_t> landing;
};

/// Returns the mean return of each episode over `runs` histories of each task.
std::vector<double> curve(const Source& source, const std::vector<int>& tasks, int episodes,
                          int runs) {
  std::vector<double> sums(static_cast<std::size_t>(episodes), 0.0);
  std::uint64_t id = 0;
  for (const int task : tasks)
    for (int run = 0; run < runs; ++run) {
      const Played played(source, task, id++, episodes);
      for (std::size_t t = 0; t < played.reward.size(); ++t)
        sums[t / kHorizon] += played.reward[t];
    }
  for (double& sum : sums)
    sum /= static_cast<double>(id);
  return sums;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t e = 0; e < got.size(); ++e)
    EXPECT_NEAR(got[e], expected[e], tolerance) << "episode " << e + 1;
}

class SourceTest : public ::testing::Test {
protected:
  std::unique_ptr<Source> make(const char* name, double epsilon, std::uint64_t seed = 0) const {
    return make_source(name, *room_, {.epsilon = epsilon, .seed = seed, .round = 0});
  }
  std::vector<int> all() const {
    std::vector<int> tasks(static_cast<std::size_t>(room_->num_tasks()));
    std::iota(tasks.begin(), tasks.end(), 0);
    return tasks;
  }
  std::vector<int> test() const { return {room_->test_tasks().begin(), room_->test_tasks().end()}; }
  std::vector<int> train() const {
    return {room_->train_tasks().begin(), room_->train_tasks().end()};
  }

  const std::unique_ptr<Environment> room_ = make_environment("darkroom", 0);
};

TEST_F(SourceTest, TheRegistryKnowsItsNames) {
  const std::vector<std::string> names = source_names();
  for (const char* name : {"explorer", "random_walk"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  EXPECT_THROW(make_source("oracle", *room_, {}), Error);
}

TEST_F(SourceTest, HistoriesAreThoseOfTheEnvironment) {
  for (const std::string& name : source_names()) {
    HistorySet histories(*room_, {.streams = 2, .episodes = 3, .horizon = 20});
    play_all(*make(name.c_str(), 0.05), histories);
    EXPECT_NO_THROW(check_histories(*room_, histories)) << name;
  }
}

TEST_F(SourceTest, AHistoryDependsOnItsIdOnly) {
  const auto source = make("explorer", 0.05);
  HistorySet all(*room_, {.streams = 5, .episodes = 8, .horizon = 20});
  HistorySet part(*room_, all.shape(), 37, 11);

  play_all(*source, all);
  play_all(*source, part);

  for (std::size_t i = 0; i < part.size(); ++i) {
    const History whole = all[37 + i];
    const History alone = part[i];
    EXPECT_TRUE(std::equal(alone.action.begin(), alone.action.end(), whole.action.begin()));
    EXPECT_TRUE(std::equal(alone.landing.begin(), alone.landing.end(), whole.landing.begin()));
    EXPECT_TRUE(std::equal(alone.reward.begin(), alone.reward.end(), whole.reward.begin()));
  }
}

TEST_F(SourceTest, LongerHistoriesBeginLikeShorterOnes) {
  const auto source = make("explorer", 0.05);
  const Played eight(*source, 0, 3, 8);
  const Played nine(*source, 0, 3, 9);

  EXPECT_TRUE(std::equal(eight.action.begin(), eight.action.end(), nine.action.begin()));
}

TEST_F(SourceTest, RefusesEpisodesThatAreNotWhole) {
  std::vector<std::uint8_t> bytes(19);

  EXPECT_THROW(make("explorer", 0.05)->play(0, {0, 0, bytes, bytes, bytes}), Error);
}

TEST_F(SourceTest, SeedRoundAndIdChangeTheHistory) {
  const auto source = make("explorer", 0.05);
  const auto later = make_source("explorer", *room_, {.epsilon = 0.05, .seed = 0, .round = 1});

  const Played first(*source, 0, 0, 8);

  EXPECT_NE(first.action, Played(*source, 0, 1, 8).action);
  EXPECT_NE(first.action, Played(*make("explorer", 0.05, 1), 0, 0, 8).action);
  EXPECT_NE(first.action, Played(*later, 0, 0, 8).action);
}

// The published curves have one or two decimals and an unstated number of runs. The tolerance of
// 0.2 allows for curves of 1,000 runs (standard error 0.06 where the spread is widest).
TEST_F(SourceTest, WithoutRandomActionsTheExplorerHasThePublishedCurves) {
  const auto source = make("explorer", 0.0);

  expect_near(curve(*source, all(), 7, 500), {2.6, 6.6, 10.4, 13.4, 15.7, 16.4, 16.54}, 0.2);
  expect_near(curve(*source, test(), 7, 4000), {3.2, 7.9, 11.7, 14.8, 16.8, 17.24, 17.25}, 0.2);
}

TEST_F(SourceTest, TheExplorersTrainingHistoriesHaveThePublishedCurve) {
  expect_near(curve(*make("explorer", 0.05), train(), 8, 500),
              {2.4, 6.1, 9.4, 12.2, 14.4, 15.4, 15.6, 15.6}, 0.15);
}

/// Computes the exact mean returns of a random walk that is optimal after its first hit.
std::vector<double> exact_random_walk(const Environment& environment, int episodes) {
  std::vector<double> returns(static_cast<std::size_t>(episodes), 0.0);
  for (int task = 0; task < environment.num_tasks(); ++task) {
    double searching = 1.0;
    for (double& mean : returns) {
      mean += (1.0 - searching) * environment.optimal_return(task) / environment.num_tasks();
      std::vector<double> at(static_cast<std::size_t>(environment.num_states()), 0.0);
      at[static_cast<std::size_t>(environment.start_state())] = searching;
      for (int left = environment.horizon(); left > 0; --left) {
        std::vector<double> next(at.size(), 0.0);
        for (int state = 0; state < environment.num_states(); ++state)
          for (int action = 0; action < environment.num_actions(); ++action)
            next[static_cast<std::size_t>(environment.step(task, state, action).next_state)] +=
                at[static_cast<std::size_t>(state)] / environment.num_actions();
        mean += std::exchange(next[static_cast<std::size_t>(task)], 0.0) * left /
                environment.num_tasks();
        at = next;
      }
      searching = std::accumulate(at.begin(), at.end(), 0.0);
    }
  }
  return returns;
}

TEST_F(SourceTest, TheRandomWalkHasItsExactCurve) {
  // The spread of a return is below 8.5. With 81 * 1,000 runs the standard error is 0.03, and the
  // tolerance is four times that.
  expect_near(curve(*make("random_walk", 0.0), all(), 12, 1000), exact_random_walk(*room_, 12),
              0.12);
}

TEST_F(SourceTest, AlwaysRandomIsTheRandomPolicy) {
  for (const std::string& name : source_names()) {
    // The mean is 0.247 by dynamic programming (environment_test). The spread is about 1, and there
    // are 40,500 runs.
    expect_near(curve(*make(name.c_str(), 1.0), all(), 2, 500), {0.247, 0.247}, 0.02);
  }
}

TEST_F(SourceTest, AfterTheFirstRewardEveryEpisodeIsOptimal) {
  for (const int task : all()) {
    const Played played(*make("explorer", 0.0), task, 5, 10);
    const auto hit = static_cast<std::size_t>(
        std::find(played.reward.begin(), played.reward.end(), 1) - played.reward.begin());
    for (std::size_t e = hit / kHorizon + 1; e < 10; ++e) {
      const auto begin = played.reward.begin() + static_cast<std::ptrdiff_t>(e * kHorizon);
      EXPECT_EQ(std::accumulate(begin, begin + kHorizon, 0), room_->optimal_return(task));
    }
    EXPECT_TRUE(std::all_of(
        played.action.begin() + static_cast<std::ptrdiff_t>(hit) + 1,
        played.action.begin() + static_cast<std::ptrdiff_t>((hit / kHorizon + 1) * kHorizon),
        [](int action) { return action == 4; }))
        << "goal " << task;
  }
}

TEST_F(SourceTest, TiesAreDrawnUniformly) {
  const auto source = make("explorer", 0.0);
  constexpr int kRuns = 4000;
  std::array<int, 5> first{};
  for (std::uint64_t id = 0; id < kRuns; ++id)
    ++first.at(Played(*source, 0, id, 1).action[0]);

  EXPECT_EQ(first[4], 0);
  for (int action = 0; action < 4; ++action)  // standard deviation 27; allows five of them
    EXPECT_NEAR(first.at(static_cast<std::size_t>(action)), kRuns / 4.0, 137);
}

TEST_F(SourceTest, ASourceOutlivesItsEnvironment) {
  auto room = make_environment("darkroom", 0);
  const auto source = make_source("explorer", *room, {.epsilon = 0.05, .seed = 0, .round = 0});
  room.reset();

  EXPECT_EQ(Played(*source, 0, 0, 8).action, Played(*make("explorer", 0.05), 0, 0, 8).action);
}

/// A strip of cells where action 1 goes right and action 0 left, with a selectable defect.
class Strip final : public Environment {
public:
  enum class Quirk { none, moves_by_task, rewards_by_action, one_way };

  Strip(int width, Quirk quirk)
      : Environment("strip",
                    {.width = width, .height = 1, .num_actions = 2, .horizon = 20, .start = {}},
                    {0, 1}, {}),
        last_(width - 1),
        quirk_(quirk) {}

  Step step(int task, int state, int action) const override {
    const bool flipped = quirk_ == Quirk::moves_by_task && task == 1;
    const bool right = (action == 1) != flipped;
    if (quirk_ == Quirk::one_way && !right) return {state, 0};
    const int next = std::clamp(state + (right ? 1 : -1), 0, last_);
    return {next, quirk_ == Quirk::rewards_by_action ? action : next == task + 1 ? 1 : 0};
  }
  int optimal_return(int) const override { return 10; }

private:
  int last_;
  Quirk quirk_;
};

TEST(SourceFitTest, AnEnvironmentWithoutAStayActionIsPlayed) {
  const Strip strip(5, Strip::Quirk::none);
  const auto source = make_source("explorer", strip, {.epsilon = 0.0, .seed = 0, .round = 0});

  const Played played(*source, 1, 0, 2);  // cell 2 is rewarded, then to and fro

  EXPECT_EQ(std::accumulate(played.reward.begin() + kHorizon, played.reward.end(), 0), 10);
}

TEST(SourceFitTest, RefusesEnvironmentsThatItsTablesCannotDescribe) {
  using enum Strip::Quirk;
  for (const Strip::Quirk quirk : {moves_by_task, rewards_by_action, one_way}) {
    try {
      make_source("explorer", Strip(5, quirk), {});
      ADD_FAILURE() << "accepted";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E132");
      EXPECT_EQ(failure.exit_code(), ExitCode::config);
    }
  }
}

TEST(SourceFitTest, AStateIsReachedInUpTo255Moves) {
  EXPECT_NO_THROW(make_source("random_walk", Strip(256, Strip::Quirk::none), {}));
}

TEST(SourceFitTest, TheExplorerRemembers128States) {
  EXPECT_NO_THROW(make_source("explorer", Strip(128, Strip::Quirk::none), {}));
  EXPECT_THROW(make_source("explorer", Strip(129, Strip::Quirk::none), {}), Failure);
  EXPECT_NO_THROW(make_source("random_walk", Strip(129, Strip::Quirk::none), {}));
}

}  // namespace
}  // namespace mgpu::ad
