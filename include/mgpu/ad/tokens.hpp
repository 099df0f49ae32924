#pragma once

// Letters of shapes: B rows of a batch, L tokens of a window, F features, A actions.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/ad/token_kind.hpp>

namespace mgpu::ad {

/// How much of a history one window shows, in training and in play. Made by make_window_rules.
struct WindowRules {
  TokenKind kind = TokenKind::step;
  int tokens = 0;   // L of a full window: steps; or past transitions and the query
  int horizon = 0;  // steps of an episode

  /// Past steps that a full window remembers.
  int memory() const { return kind == TokenKind::step ? tokens : tokens - 1; }
};

/// Rules for a context of `n_transit` steps, or of a whole history where that is shorter: the
/// model knows no position that it was not trained on. Kind `step` rounds down to episodes.
///
/// Errors: Failure E131 (exit 78) where the context is too short to learn from: less than two
/// episodes for kind `step` (an agent that sees one episode cannot improve from one to the
/// next), less than one transition and the query for kind `transition`.
WindowRules make_window_rules(TokenKind kind, int n_transit, const HistoryShape& histories);

/// One step that has been taken.
struct Transition {
  std::uint8_t state = 0;  // before
  std::uint8_t action = 0;
  std::uint8_t reward = 0;
  std::uint8_t landing = 0;  // after, at an episode's end too

  friend bool operator==(const Transition&, const Transition&) = default;
};

/// Where tokens of kind `step` go. Shapes: each [B, L] int32, rows L apart; owned by the caller
struct StepBatch {
  std::int32_t* x = nullptr;  // of the cell to act in
  std::int32_t* y = nullptr;
  std::int32_t* previous_action = nullptr;  // A for the first token of a window
  std::int32_t* previous_reward = nullptr;  // 0 there
  std::int32_t* landing_x = nullptr;        // where the previous step landed; the cell itself there
  std::int32_t* landing_y = nullptr;
  std::int32_t* target = nullptr;  // the action taken; nullptr where it is not known yet
};

/// Where tokens of kind `transition` go; owned by the caller.
struct TransitionBatch {
  float* features = nullptr;       // [B, L - 1, F]; zero from `length` on
  std::int32_t* length = nullptr;  // [B], past transitions, 0 to L - 1; the query comes next
  std::int32_t* query = nullptr;   // [B], state to act in
  std::int32_t* target = nullptr;  // [B], the action taken; nullptr where it is not known yet
};

/// Writes single tokens: the one definition of what the model sees, in training and in play.
class TokenWriter {
public:
  explicit TokenWriter(const Environment& environment);

  /// F: state x and y, one-hot action, reward, landing x and y; cells unscaled.
  /// Source: the public implementation that guide 001 describes (algorithms.md 4.4).
  std::size_t num_features() const { return static_cast<std::size_t>(num_actions_) + 5; }

  /// The token to act in `state` after `previous` (nullptr: first of its window), at element
  /// `at` of each array but target.
  void write(const StepBatch& out, std::size_t at, std::uint8_t state,
             const Transition* previous) const;

  /// Shapes: features [F]
  void write(float* features, const Transition& transition) const;

private:
  int num_actions_;
  std::vector<Point> points_;  // [states]
};

}  // namespace mgpu::ad
