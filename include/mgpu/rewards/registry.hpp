#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/rewards/reward.hpp>

namespace mgpu::rewards {

/// The values of the keys reward.*.
struct RewardSettings {
  std::vector<std::string> names{};        // names in reward.functions, in the order of the key
  std::vector<double> weights{};           // [names.size()] weights in reward.functions
  std::string regex{};                     // reward.regex
  std::int64_t length = 0;                 // reward.length
  std::filesystem::path file{};            // reward.file
  std::string command{};                   // reward.command
  std::int64_t rows_per_call = 32;         // reward.rows_per_call
  double timeout_s = 60;                   // reward.timeout
  std::filesystem::path model{};           // reward.model
  std::string model_key = "reward.model";  // key that sets `model`, for messages
  /// Receives warnings of rewards, for example that a command was started again.
  std::function<void(const std::string&)> warn = [](const std::string&) {};

  bool is_given() const { return !names.empty(); }

  /// Returns whether a chosen reward compares completions with the column `answer`.
  bool needs_answers() const;

  /// Returns whether the reward `model` is chosen.
  bool has_model() const;
};

/// One reward of the registry. The source file NAME.cpp has a function NAME_reward() that returns
/// this entry, and MGPU_REWARDS in registry.cpp lists NAME.
struct RewardEntry {
  std::string_view name;     // "match"
  std::string_view summary;  // what the help of reward.functions shows
  bool needs_answers = false;
  const char* key = "";  // the key that must be set if this reward is chosen; "": no key

  /// Makes the reward. `make` is nullptr for the reward `model`, because the caller of
  /// WeightedRewards makes that reward.
  /// Errors: Failure if a setting cannot be used, such as E107 (exit 78) for reward.regex and E552
  ///         (exit 65) for a row of reward.file; those of input::open_rows() for reward.file.
  std::unique_ptr<Reward> (*make)(const RewardSettings& settings) = nullptr;
};

/// Returns all rewards, in the order of the registry.
std::span<const RewardEntry> rewards();

/// Adds the keys reward.*.
void add_reward_keys(KeyTable& table);

/// Checks the keys reward.*. The rewards must be known and different, the weights must be numbers,
/// and the key that a reward needs must be set.
/// Errors: Failure E107 (a value breaks a rule, exit 78) or E124 (a needed key is not set, or a key
///         that is set has no use, exit 78).
void check_reward_keys(const Config& config);

/// Reads the keys reward.*. Call this function after check_reward_keys() has accepted `config`.
RewardSettings read_reward_settings(const Config& config);

/// Makes each chosen reward once, except the reward `model`, to find errors in the settings.
/// Errors: those of RewardEntry::make.
void check_rewards(const RewardSettings& settings);

/// The rewards of the rows that were passed to WeightedRewards::score().
struct Scores {
  /// [rows] Weighted sum of the rewards. NaN if a reward whose weight is not 0 is NaN.
  std::vector<double> total{};
  /// [number of rewards][rows] The single rewards, without weights.
  std::vector<std::vector<double>> parts{};
};

/// The rewards that a configuration chooses, with their weights.
class WeightedRewards {
public:
  /// `of_model` is the reward `model`. It is required if settings.has_model() is true.
  /// Errors: those of RewardEntry::make; Error if a required `of_model` is missing.
  explicit WeightedRewards(const RewardSettings& settings,
                           std::unique_ptr<Reward> of_model = nullptr);

  /// Calls start() of each reward. Errors: those of Reward::start().
  void start();

  /// Calls check_started() of each reward. Errors: those of Reward::check_started().
  void check_started();

  /// Returns the weighted sum and the single rewards of each row. Errors: those of Reward::score().
  Scores score(std::span<const RewardRow> rows);

private:
  std::vector<std::unique_ptr<Reward>> rewards_;
  std::vector<double> weights_;
};

}  // namespace mgpu::rewards
