#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/python_shuffle.hpp>

namespace mgpu::ad {
namespace {

constexpr int kSide = 9;
constexpr EnvironmentShape kShape{
    .width = kSide, .height = kSide, .num_actions = 5, .horizon = 20, .start = {4, 4}};

/// Returns all goals in the order that Python's random.shuffle(goals) gives after
/// random.seed(split_seed).
std::vector<int> shuffled_goals(std::uint64_t split_seed) {
  std::vector<int> goals(std::size_t{kSide} * kSide);
  std::iota(goals.begin(), goals.end(), 0);
  PythonRandom(split_seed).shuffle(goals);
  return goals;
}

/// The task is to find a cell in the dark. The reward is 1 for every step that ends on the goal,
/// and 0 for other steps.
///
/// Each task has the number of its goal state. Action 0 moves to +x, 1 to -x, 2 to +y, 3 to -y, and
/// 4 stays; walls block moves.
/// Source: Laskin et al., arXiv 2210.14215. Horizon and split are those of the public
///         implementations: nine tenths of the goals, rounded to a whole number, are for training.
class Darkroom final : public Environment {
public:
  explicit Darkroom(const std::vector<int>& goals)
      : Environment("darkroom", kShape, {goals.begin(), goals.begin() + kTrain},
                    {goals.begin() + kTrain, goals.end()}) {}

  Step step(int task, int state, int action) const override {
    static constexpr int kDx[] = {1, -1, 0, 0, 0};
    static constexpr int kDy[] = {0, 0, 1, -1, 0};
    const Point p = point(state);
    const int next = state_at(
        {std::clamp(p.x + kDx[action], 0, kSide - 1), std::clamp(p.y + kDy[action], 0, kSide - 1)});
    return {next, next == task ? 1 : 0};
  }

  /// Returns the total reward of an episode with the shortest path. The step that reaches the goal
  /// is rewarded, and so are all later steps, which stay on the goal. If the start is the goal, all
  /// steps are rewarded.
  int optimal_return(int task) const override {
    const Point goal = point(task);
    const int distance = std::abs(goal.x - kShape.start.x) + std::abs(goal.y - kShape.start.y);
    return std::min(kShape.horizon, kShape.horizon + 1 - distance);
  }

private:
  static constexpr int kTrain = 73;  // number of training tasks, out of 81 tasks
};

}  // namespace

std::unique_ptr<Environment> make_darkroom(std::uint64_t split_seed) {
  return std::make_unique<Darkroom>(shuffled_goals(split_seed));
}

}  // namespace mgpu::ad
