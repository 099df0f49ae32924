// Tests Darkroom. The expected goals and returns are those of Laskin et al. (arXiv 2210.14215),
// with the split of the public implementation. The figures are exact, or computed here by dynamic
// programming.
#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/environment.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu::ad {
namespace {

std::vector<Point> goals(const Environment& environment, std::span<const int> tasks) {
  std::vector<Point> points;
  for (const int task : tasks)
    points.push_back(environment.point(task));
  return points;
}

double mean_optimum(const Environment& environment, std::span<const int> tasks) {
  const auto add = [&](int sum, int task) { return sum + environment.optimal_return(task); };
  return std::accumulate(tasks.begin(), tasks.end(), 0, add) / static_cast<double>(tasks.size());
}

/// Returns the value of the start state for a whole episode, by backward induction. `best` gives
/// the value of a state from the values of its actions.
template <class Best>
double start_value(const Environment& environment, int task, Best best) {
  std::vector<double> value(static_cast<std::size_t>(environment.num_states()), 0.0);
  for (int step = 0; step < environment.horizon(); ++step) {
    std::vector<double> before(value.size());
    for (int state = 0; state < environment.num_states(); ++state) {
      std::vector<double> of_action;
      for (int action = 0; action < environment.num_actions(); ++action) {
        const auto [next, reward] = environment.step(task, state, action);
        of_action.push_back(reward + value[static_cast<std::size_t>(next)]);
      }
      before[static_cast<std::size_t>(state)] = best(of_action);
    }
    value = before;
  }
  return value[static_cast<std::size_t>(environment.start_state())];
}

class DarkroomTest : public ::testing::Test {
protected:
  const std::unique_ptr<Environment> room_ = make_environment("darkroom", 0);
};

TEST_F(DarkroomTest, HasTheSizesOfThePaper) {
  EXPECT_EQ(room_->name(), "darkroom");
  EXPECT_EQ(room_->num_states(), 81);
  EXPECT_EQ(room_->num_actions(), 5);
  EXPECT_EQ(room_->horizon(), 20);
  EXPECT_EQ(room_->point(room_->start_state()), (Point{4, 4}));
}

TEST_F(DarkroomTest, SplitsGoalsAsThePublicImplementation) {
  const std::vector<Point> train = goals(*room_, room_->train_tasks());

  EXPECT_EQ(goals(*room_, room_->test_tasks()),
            (std::vector<Point>{{4, 2}, {5, 6}, {6, 8}, {7, 2}, {3, 6}, {0, 5}, {5, 8}, {5, 4}}));
  ASSERT_EQ(train.size(), 73U);
  EXPECT_EQ((std::vector<Point>{train.begin(), train.begin() + 5}),
            (std::vector<Point>{{2, 6}, {5, 3}, {2, 8}, {8, 3}, {1, 0}}));
}

TEST_F(DarkroomTest, AnotherSplitSeedGivesAnotherSplit) {
  const auto other = make_environment("darkroom", 1);

  EXPECT_NE(goals(*other, other->test_tasks()), goals(*room_, room_->test_tasks()));
}

TEST_F(DarkroomTest, ActionsMoveAndWallsHold) {
  const int far_from_here = 0;
  const auto land = [&](Point from, int action) {
    return room_->point(room_->step(far_from_here, room_->state_at(from), action).next_state);
  };

  EXPECT_EQ(land({4, 4}, 0), (Point{5, 4}));
  EXPECT_EQ(land({4, 4}, 1), (Point{3, 4}));
  EXPECT_EQ(land({4, 4}, 2), (Point{4, 5}));
  EXPECT_EQ(land({4, 4}, 3), (Point{4, 3}));
  EXPECT_EQ(land({4, 4}, 4), (Point{4, 4}));
  EXPECT_EQ(land({8, 8}, 0), (Point{8, 8}));
  EXPECT_EQ(land({0, 0}, 1), (Point{0, 0}));
  EXPECT_EQ(land({8, 8}, 2), (Point{8, 8}));
  EXPECT_EQ(land({0, 0}, 3), (Point{0, 0}));
}

TEST_F(DarkroomTest, RewardsEveryStepThatEndsOnTheGoal) {
  const int goal = room_->state_at({4, 5});

  EXPECT_EQ(room_->step(goal, room_->state_at({4, 4}), 2).reward, 1);
  EXPECT_EQ(room_->step(goal, goal, 4).reward, 1);
  EXPECT_EQ(room_->step(goal, goal, 2).reward, 0);
  EXPECT_EQ(room_->step(goal, room_->state_at({4, 4}), 4).reward, 0);
}

TEST_F(DarkroomTest, TheOptimumIsThatOfBackwardInduction) {
  for (int task = 0; task < room_->num_tasks(); ++task) {
    const double best = start_value(*room_, task, [](const std::vector<double>& values) {
      return *std::max_element(values.begin(), values.end());
    });
    EXPECT_EQ(room_->optimal_return(task), best) << "goal " << task;
  }
}

TEST_F(DarkroomTest, MeanOptimaAreThePublishedOnes) {
  EXPECT_DOUBLE_EQ(mean_optimum(*room_, room_->test_tasks()), 17.25);
  EXPECT_NEAR(mean_optimum(*room_, room_->train_tasks()), 16.466, 5e-4);
}

TEST_F(DarkroomTest, TheRandomPolicyEarnsAQuarter) {
  double sum = 0.0;
  for (int task = 0; task < room_->num_tasks(); ++task)
    sum += start_value(*room_, task, [](const std::vector<double>& values) {
      return std::accumulate(values.begin(), values.end(), 0.0) /
             static_cast<double>(values.size());
    });

  EXPECT_NEAR(sum / room_->num_tasks(), 0.247, 5e-4);
}

TEST(EnvironmentTest, TheRegistryKnowsItsNames) {
  const std::vector<std::string> names = environment_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "darkroom"), names.end());
  EXPECT_THROW(make_environment("brightroom", 0), Error);
}

/// A corridor of `width` cells without rewards, with configurable lists of tasks.
class Corridor final : public Environment {
public:
  Corridor(int width, std::vector<int> train, std::vector<int> test)
      : Environment("corridor",
                    {.width = width, .height = 1, .num_actions = 1, .horizon = 3, .start = {}},
                    std::move(train), std::move(test)) {}
  Step step(int, int state, int) const override { return {state, 0}; }
  int optimal_return(int) const override { return 0; }
};

TEST(EnvironmentTest, RefusesStatesBeyondAByte) {
  EXPECT_NO_THROW(Corridor(256, {0}, {}));
  EXPECT_THROW(Corridor(257, {0}, {}), Error);
}

TEST(EnvironmentTest, RefusesTasksInBothListsOrNone) {
  EXPECT_THROW(Corridor(2, {0, 1}, {1}), Error);
  EXPECT_THROW(Corridor(2, {0}, {2}), Error);
}

}  // namespace
}  // namespace mgpu::ad
