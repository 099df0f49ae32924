#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/ad/environment.hpp>

namespace mgpu::ad {

// Shapes in this header: S = states, A = actions.

/// An action and the state to which it leads, in two bytes.
struct Move {
  std::uint8_t action = 0;
  std::uint8_t next_state = 0;
};

/// Tables of an environment whose tasks differ only in the rewards of the states. The tables
/// contain the result of each action in each state, and for any two states the distance and the
/// first action of a shortest path.
class StateGraph {
public:
  /// Builds the tables.
  /// Errors: Failure E132 (exit 78) when moves depend on the task, when a reward depends on more
  ///         than the state reached, or when a state cannot be reached from another state.
  explicit StateGraph(const Environment& environment);

  std::size_t num_states() const { return num_states_; }
  std::uint32_t num_actions() const { return num_actions_; }
  std::size_t horizon() const { return horizon_; }
  std::uint8_t start() const { return start_; }

  int distance(std::size_t from, std::size_t to) const {
    return distance_[to * num_states_ + from];
  }

  /// Returns an array of shape [A]: the moves from `state`, one for each action.
  const Move* moves(std::size_t state) const { return &moves_[state * num_actions_]; }

  /// Returns an array of shape [S]: the first move of a shortest path to `target` from each state.
  /// If several first moves are possible, the array has the one with the lowest action. The element
  /// of `target` is the move with the highest action that stays there, or action 0 if no action
  /// stays.
  const Move* path_to(std::size_t target) const { return &paths_[target * num_states_]; }

  /// Returns an array of shape [S]: the reward of `task` for reaching each state.
  const std::uint8_t* rewards(int task) const {
    return &rewards_[static_cast<std::size_t>(task) * num_states_];
  }

private:
  void read_moves(const Environment& environment);
  void read_rewards(const Environment& environment);
  void measure(std::size_t target, const Environment& environment);
  void find_paths(std::size_t target);

  std::size_t num_states_;
  std::uint32_t num_actions_;
  std::size_t horizon_;
  std::uint8_t start_;
  std::vector<Move> moves_;              // [S, A] result of each action in each state
  std::vector<std::uint16_t> distance_;  // [S, S] distances; index: target, then origin of the path
  std::vector<Move> paths_;  // [S, S] first moves of shortest paths; index: target, then origin
  std::vector<std::uint8_t> rewards_;  // [tasks, S] reward for reaching each state
};

}  // namespace mgpu::ad
