#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/text/chat_template.hpp>

namespace mgpu::rewards {

/// A completion that a reward judges.
struct RewardRow {
  std::string_view prompt;
  std::string_view completion;
  std::string_view answer;  // column `answer` of the row; "" without that column

  /// The messages from which `prompt` was rendered. Empty if the row has no messages.
  std::span<const text::ChatMessage> messages{};
};

/// A function that judges completions.
class Reward {
public:
  Reward() = default;
  Reward(const Reward&) = delete;
  Reward& operator=(const Reward&) = delete;
  Reward(Reward&&) = delete;
  Reward& operator=(Reward&&) = delete;
  virtual ~Reward() = default;

  /// Starts what the reward needs, such as a program. Called at most once, before score().
  /// Errors: Failure E551 if the program of reward `command` cannot be started.
  virtual void start() {}

  /// Checks that the program of the reward is still running, if start() has started a program.
  /// Called after start() and before score().
  /// Errors: Failure E551 if the program of reward `command` has ended.
  virtual void check_started() {}

  /// Returns the reward of each row, or NaN for a row that cannot be judged.
  /// Shapes: [rows.size()]
  /// Errors: those of the derived class, such as Failure E551 of the reward `command`.
  virtual std::vector<double> score(std::span<const RewardRow> rows) = 0;
};

}  // namespace mgpu::rewards
