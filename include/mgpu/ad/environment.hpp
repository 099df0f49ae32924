#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu::ad {

/// A cell of the grid.
struct Point {
  int x = 0;
  int y = 0;

  friend bool operator==(const Point&, const Point&) = default;
};

/// The sizes and the start of an environment, which never change.
struct EnvironmentShape {
  int width = 0;        // states have x in {0, ..., width - 1}
  int height = 0;       // states have y in {0, ..., height - 1}; width * height <= 256
  int num_actions = 0;  // at most 255, because the value num_actions means "no action yet"
  int horizon = 0;      // number of steps of every episode
  Point start;          // where every episode begins
};

/// A family of tasks on one grid with the same states, actions and start, but different rewards.
///
/// A state is a cell, and its number is x * height + y. Tasks are numbered from 0, and each is
/// either for training or for testing. Rewards are whole numbers from 0 to 255. The last step of an
/// episode reports the state that it reached, never the start of the next episode.
class Environment {
public:
  struct Step {
    int next_state = 0;
    int reward = 0;
  };

  virtual ~Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  Environment(Environment&&) = delete;
  Environment& operator=(Environment&&) = delete;

  /// Returns the state and the reward after `action` in `state` of `task`. Arguments are not
  /// checked; they must be in range.
  virtual Step step(int task, int state, int action) const = 0;

  /// Returns the largest possible sum of rewards in an episode of `task`.
  virtual int optimal_return(int task) const = 0;

  const std::string& name() const { return name_; }
  int num_states() const { return shape_.width * shape_.height; }
  int num_actions() const { return shape_.num_actions; }
  int horizon() const { return shape_.horizon; }
  int start_state() const { return state_at(shape_.start); }
  const EnvironmentShape& shape() const { return shape_; }

  std::span<const int> train_tasks() const { return train_tasks_; }
  std::span<const int> test_tasks() const { return test_tasks_; }
  int num_tasks() const { return static_cast<int>(train_tasks_.size() + test_tasks_.size()); }

  Point point(int state) const { return {state / shape_.height, state % shape_.height}; }
  int state_at(Point p) const { return p.x * shape_.height + p.y; }

protected:
  /// Makes an environment with these properties.
  /// Errors: Error unless there are 1 to 256 states, 1 to 255 actions and at least one step in an
  ///         episode. Error when a task is not in exactly one of the two lists.
  Environment(std::string name, EnvironmentShape shape, std::vector<int> train_tasks,
              std::vector<int> test_tasks);

private:
  std::string name_;
  EnvironmentShape shape_;
  std::vector<int> train_tasks_;
  std::vector<int> test_tasks_;
};

/// Returns the names that make_environment accepts.
std::vector<std::string> environment_names();

/// Makes the environment `name`. `split_seed` selects which tasks are for training.
/// Errors: Error for an unknown name.
std::unique_ptr<Environment> make_environment(std::string_view name, std::uint64_t split_seed);

}  // namespace mgpu::ad
