#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/ad/tokens.hpp>

namespace mgpu::ad {

/// What is taken from the agent to see what it lives on.
struct Controls {
  bool hide_rewards = false;   // rewards in the context read 0
  bool clear_context = false;  // every episode begins with an empty context
};

/// What one playing agent remembers: the tokens that a training window of the same steps has.
///
/// Per episode: begin_episode(start), then for each step write the tokens, choose an action,
/// record(action, reward, landing). When a window of kind `step` is full at the start of an
/// episode, its oldest episode is dropped; one of kind `transition` slides.
class RolloutMemory {
public:
  /// The writer is shared with the caller and outlives this.
  RolloutMemory(const TokenWriter& writer, WindowRules rules, Controls controls = {});

  /// Errors: Error in the middle of an episode.
  void begin_episode(int start_state);

  /// Errors: Error where no step is due.
  void record(int action, int reward, int landing);

  /// Past steps in the window. Kind `step`: the token to act on is number num_past().
  std::size_t num_past() const { return past_.size(); }

  /// Kind `step`: whether this token follows those written before. False in the first step of a
  /// window, after an episode was dropped or the context cleared: cached keys have to go.
  bool continues() const { return continues_; }

  /// All num_past() + 1 tokens into row `row` of a batch of L = rules.tokens, targets left
  /// alone. The row's elements behind them are left alone too. Errors: Error for the other kind
  /// of tokens or where no step is due.
  void write(const StepBatch& out, std::size_t row) const;
  void write(const TransitionBatch& out, std::size_t row) const;

  /// Only the token to act on, at element `at`, for a model that keeps its keys. Errors: as write.
  void write_last(const StepBatch& out, std::size_t at) const;

private:
  void require(TokenKind kind) const;
  void forget(std::size_t oldest);

  const TokenWriter* writer_;
  WindowRules rules_;
  Controls controls_;
  std::vector<Transition> past_;  // oldest first
  std::uint8_t state_ = 0;        // to act in
  int steps_left_ = 0;            // of this episode
  bool continues_ = false;
};

}  // namespace mgpu::ad
