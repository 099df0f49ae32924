#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/ad/tokens.hpp>

namespace mgpu::ad {

/// Switches that hide information from the agent (ablations), to measure whether its behavior
/// depends on this information.
struct Controls {
  bool hide_rewards = false;   // rewards in the context are 0
  bool clear_context = false;  // every episode starts with an empty context
};

/// The past steps that one playing agent remembers, as tokens for the model. Without Controls, the
/// tokens equal those of a training window over the same steps.
///
/// Call begin_episode(start) for each episode. For each step of the episode, write the tokens,
/// choose an action, and call record(action, reward, landing).
///
/// If the window (WindowRules) is full, old steps are dropped. With TokenKind::step,
/// begin_episode() drops the oldest episode if the window has no room for another one. With
/// TokenKind::transition, record() drops the oldest step if the window has no room for the new one.
class RolloutMemory {
public:
  /// Keeps a reference to `writer`, which must outlive this object.
  RolloutMemory(const TokenWriter& writer, WindowRules rules, Controls controls = {});

  /// Starts an episode in state `start_state`.
  /// Errors: Error when the previous episode has steps left.
  void begin_episode(int start_state);

  /// Stores the step that the agent made: its action, the reward, and the state that it reached.
  /// Errors: Error when no episode is in progress.
  void record(int action, int reward, int landing);

  /// Returns the number of past steps in the window. With TokenKind::step it is also the index of
  /// the current token, for which the agent chooses an action.
  std::size_t num_past() const { return past_.size(); }

  /// With TokenKind::step, returns whether the model can reuse the attention keys and values that
  /// it cached at the previous step. Returns false at the first step of the rollout, and at the
  /// first step after an episode was dropped or the context was cleared.
  bool continues() const { return continues_; }

  /// Writes the num_past() past steps and the current state to row `row` of a batch, whose windows
  /// have WindowRules::tokens tokens. In a StepBatch, each past step and the current state become a
  /// token; later elements do not change. In a TransitionBatch, each past step becomes a token,
  /// later tokens become 0, and the current state is written to `query`. The targets do not change.
  /// Errors: Error when `out` is for the other token kind, or no episode is in progress.
  void write(const StepBatch& out, std::size_t row) const;
  void write(const TransitionBatch& out, std::size_t row) const;

  /// Writes only the token of the current state, to element `at` of each array of `out` except
  /// target. This token is enough if the model has cached the keys and values of earlier tokens.
  /// Errors: Error with TokenKind::transition, or when no episode is in progress.
  void write_last(const StepBatch& out, std::size_t at) const;

private:
  void require(TokenKind kind) const;
  void forget(std::size_t oldest);

  const TokenWriter* writer_;
  WindowRules rules_;
  Controls controls_;
  std::vector<Transition> past_;  // oldest first
  std::uint8_t state_ = 0;        // the current state
  int steps_left_ = 0;            // steps left in this episode
  bool continues_ = false;
};

}  // namespace mgpu::ad
