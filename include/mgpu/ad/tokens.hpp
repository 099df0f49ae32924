#pragma once

// Shapes in this header: B = rows of a batch, L = tokens of a window, F = features, A = actions.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/ad/token_kind.hpp>

namespace mgpu::ad {

/// The size of a window, the part of a history that the model sees at a time. Training and play use
/// the same rules, from make_window_rules().
struct WindowRules {
  TokenKind kind = TokenKind::step;
  int tokens = 0;   // tokens in a full window (L); one per step, or one per past transition plus 1
  int horizon = 0;  // steps of an episode

  /// Returns the largest number of completed steps that a window can hold.
  int memory() const { return kind == TokenKind::step ? tokens : tokens - 1; }
};

/// Returns the rules for windows of at most `n_transit` tokens. A window is never longer than a
/// history, because window positions beyond the length of a history would get no training data.
/// With TokenKind::step, the window's length is rounded down to whole episodes.
/// Errors: Failure E131 (exit 78) when a window is too short to learn from. TokenKind::step needs
///         two episodes, because an agent that sees only one episode cannot improve from one
///         episode to the next. TokenKind::transition needs two tokens: one transition and the
///         current state.
WindowRules make_window_rules(TokenKind kind, int n_transit, const HistoryShape& histories);

/// One completed step.
struct Transition {
  std::uint8_t state = 0;  // state before the step
  std::uint8_t action = 0;
  std::uint8_t reward = 0;
  std::uint8_t landing = 0;  // state after the step, also at the end of an episode

  friend bool operator==(const Transition&, const Transition&) = default;
};

/// The arrays to which tokens of TokenKind::step are written. The caller owns them.
/// Shapes: each [B, L], contiguous
struct StepBatch {
  std::int32_t* x = nullptr;  // coordinates of the current cell
  std::int32_t* y = nullptr;
  std::int32_t* previous_action = nullptr;  // A for the first token of a window
  std::int32_t* previous_reward = nullptr;  // 0 for the first token
  std::int32_t* landing_x = nullptr;        // cell reached by the previous step; the current cell
                                            // for the first token
  std::int32_t* landing_y = nullptr;
  std::int32_t* target = nullptr;  // the action taken; nullptr if not known yet
};

/// The arrays to which tokens of TokenKind::transition are written. The caller owns them.
struct TransitionBatch {
  float* features = nullptr;       // [B, L - 1, F] past transitions; zero from index `length` on
  std::int32_t* length = nullptr;  // [B], number of past transitions, 0 to L - 1
  std::int32_t* query = nullptr;   // [B], number of the current state
  std::int32_t* target = nullptr;  // [B], the action taken; nullptr if not known yet
};

/// Number of different rewards in a StepBatch, which are 0, 1 and 2.
constexpr int kStepRewards = 3;

/// Writes single tokens. Training and play both use this class, so the model sees the same tokens
/// in both.
class TokenWriter {
public:
  explicit TokenWriter(const Environment& environment);

  /// Returns F, the number of features of a transition: state x and y, one-hot action, reward,
  /// landing x and y. Coordinates are not scaled.
  /// Source: public implementations of Algorithm Distillation, which embed these inputs linearly.
  std::size_t num_features() const { return static_cast<std::size_t>(num_actions_) + 5; }

  /// Writes the token for `state` to element `at` of each array of `out` except target. `previous`
  /// is the preceding step, which can be the last one of the previous episode. It is nullptr for
  /// the first token of a window.
  /// Errors: Failure E131 (exit 78) when the reward of `previous` is kStepRewards or more.
  void write(const StepBatch& out, std::size_t at, std::uint8_t state,
             const Transition* previous) const;

  /// Writes the F features of one past step to `features`.
  void write(float* features, const Transition& transition) const;

private:
  int num_actions_;
  std::vector<Point> points_;  // [states] cell of each state
};

}  // namespace mgpu::ad
