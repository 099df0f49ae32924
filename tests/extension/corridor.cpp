// Defines an environment: a corridor whose tasks are its cells.
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <mgpu/ad/environment.hpp>

namespace mgpu::ad {
namespace {

constexpr int kCells = 12;
constexpr int kTrain = 9;
constexpr EnvironmentShape kShape{
    .width = kCells, .height = 1, .num_actions = 2, .horizon = 8, .start = {0, 0}};

/// Rewards each step that ends on the goal with 1. Action 0 moves right, action 1 moves left; the
/// ends block moves.
class Corridor final : public Environment {
public:
  explicit Corridor(const std::vector<int>& goals)
      : Environment("corridor", kShape, {goals.begin(), goals.begin() + kTrain},
                    {goals.begin() + kTrain, goals.end()}) {}

  Step step(int task, int state, int action) const override {
    const int next = std::clamp(state + (action == 0 ? 1 : -1), 0, kCells - 1);
    return {next, next == task ? 1 : 0};
  }

  /// Returns the number of visits of a walk that reaches the goal, and then steps off it and on it
  /// again. At both ends of the corridor the agent can stay on the goal.
  int optimal_return(int task) const override {
    const bool can_stay = task == 0 || task == kCells - 1;
    const int way = task;
    const int left = kShape.horizon - way;
    if (left < 0) return 0;
    if (way == 0) return kShape.horizon;
    return can_stay ? left + 1 : left / 2 + 1;
  }
};

}  // namespace

std::unique_ptr<Environment> make_corridor(std::uint64_t split_seed) {
  std::vector<int> goals(kCells);
  std::iota(goals.begin(), goals.end(), 0);
  std::rotate(goals.begin(), goals.begin() + static_cast<int>(split_seed % kCells), goals.end());
  return std::make_unique<Corridor>(goals);
}

}  // namespace mgpu::ad
