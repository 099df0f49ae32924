#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/ad/tokens.hpp>

namespace mgpu::ad {

/// Hides information from the agent, to measure what its behavior depends on (ablations).
struct Controls {
  bool hide_rewards = false;   // rewards in the context are 0
  bool clear_context = false;  // every episode starts with an empty context
};

/// The past steps that one playing agent remembers. It writes the same tokens as a training window
/// over the same steps.
///
/// Call begin_episode(start) for each episode. For each of its steps, write the tokens, choose an
/// action, and call record(action, reward, landing). When a window of kind `step` is full at the
/// start of an episode, its oldest episode is dropped. A window of kind `transition` slides.
class RolloutMemory {
public:
  /// Keeps a reference to the writer, which must outlive this object.
  RolloutMemory(const TokenWriter& writer, WindowRules rules, Controls controls = {});

  /// Starts an episode. Errors: Error in the middle of an episode.
  void begin_episode(int start_state);

  /// Stores the step that the agent made. Errors: Error when no episode is in progress.
  void record(int action, int reward, int landing);

  /// Returns the number of past steps in the window. For kind `step` it is also the index of the
  /// token whose action the agent chooses.
  std::size_t num_past() const { return past_.size(); }

  /// Returns, for kind `step`, whether the next token continues the earlier tokens. It is false in
  /// the first step of a window, and after an episode was dropped or the context was cleared.
  /// Cached keys are then invalid.
  bool continues() const { return continues_; }

  /// Writes all num_past() + 1 tokens into row `row` of a batch with L = rules.tokens. Targets do
  /// not change. Later elements of the row do not change for kind `step`, and become 0 for kind
  /// `transition`. Errors: Error for the other kind of tokens, or when no episode is in progress.
  void write(const StepBatch& out, std::size_t row) const;
  void write(const TransitionBatch& out, std::size_t row) const;

  /// Writes only the last token, whose action the agent chooses, at element `at`. It serves a model
  /// with cached keys. Errors: as write().
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
