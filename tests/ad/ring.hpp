#pragma once

#include <mgpu/ad/environment.hpp>

namespace mgpu::ad {

/// 16 cells in a ring where each action has a different jump, so a path determines its actions.
/// Task t rewards every fourth cell: the cells whose index is t modulo 4.
class Ring final : public Environment {
public:
  static constexpr int kHorizon = 4;

  Ring()
      : Environment(
            "ring",
            {.width = 4, .height = 4, .num_actions = 5, .horizon = kHorizon, .start = {1, 2}},
            {0, 1}, {2, 3}) {}

  Step step(int task, int state, int action) const override {
    const int next = (state + 3 * action + 1) % 16;
    return {next, next % 4 == task ? 1 : 0};
  }

  int optimal_return(int /*task*/) const override { return kHorizon; }

  /// Returns the action that leads from `state` to `next`; -1 if no action does.
  int action_between(int state, int next) const {
    for (int action = 0; action < num_actions(); ++action)
      if (step(0, state, action).next_state == next) return action;
    return -1;
  }
};

}  // namespace mgpu::ad
