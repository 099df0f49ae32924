#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/ad/tokens.hpp>

namespace mgpu::ad {

/// Ablations: information that is hidden from the agent to measure what it depends on.
struct Controls {
  bool hide_rewards = false;   // rewards in the context are 0
  bool clear_context = false;  // every episode starts with an empty context
};

/// The memory of one playing agent. It makes the same tokens as a training window of these steps.
///
/// Per episode: begin_episode(start), then for each step write the tokens, choose an action,
/// record(action, reward, landing). When a window of kind `step` is full at the start of an
/// episode, its oldest episode is dropped; a window of kind `transition` slides.
class RolloutMemory {
public:
  /// Keeps a reference to the writer, which must outlive this object.
  RolloutMemory(const TokenWriter& writer, WindowRules rules, Controls controls = {});

  /// Errors: Error in the middle of an episode.
  void begin_episode(int start_state);

  /// Errors: Error when no step is due.
  void record(int action, int reward, int landing);

  /// Returns the past steps in the window. Kind `step`: the index of the token to act on.
  std::size_t num_past() const { return past_.size(); }

  /// Returns for kind `step` whether this token continues the earlier ones. False in the first step
  /// of a window, after an episode was dropped or the context was cleared: cached keys are then
  /// invalid.
  bool continues() const { return continues_; }

  /// Writes all num_past() + 1 tokens into row `row` of a batch with L = rules.tokens. Targets and
  /// the row's later elements do not change. Errors: Error for the other kind of tokens or when no
  /// step is due.
  void write(const StepBatch& out, std::size_t row) const;
  void write(const TransitionBatch& out, std::size_t row) const;

  /// Writes only the token to act on, at element `at`, for a model with cached keys. Errors: as
  /// write.
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
