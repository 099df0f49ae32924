#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/rewards/registry.hpp>

#include "child_process.hpp"

namespace mgpu::rewards {
namespace {

using formats::JsonValue;

constexpr std::size_t kShownBytes = 200;

/// Sends rows to a command, which answers with their rewards. The command runs until this object is
/// destroyed. If it fails, it is started again, and gets the rows of the failed request one by one.
/// If the command fails again with a row, this row gets the reward NaN. The method score() throws
/// Failure E551 in two cases: the command answers no row of its first request, or it fails with
/// kMostFailures consecutive rows that are sent alone.
class CommandReward final : public Reward {
public:
  explicit CommandReward(const RewardSettings& settings)
      : command_(settings.command),
        rows_per_call_(static_cast<std::size_t>(settings.rows_per_call)),
        timeout_s_(settings.timeout_s),
        warn_(settings.warn) {}

  void start() override { child_ = std::make_unique<ChildProcess>(command_); }

  void check_started() override {
    if (child_) child_->check_started();
  }

  std::vector<double> score(std::span<const RewardRow> rows) override {
    std::vector<double> scores;
    while (!rows.empty()) {
      const std::size_t count = std::min(rows_per_call_, rows.size());
      answer(rows.first(count), scores);
      rows = rows.subspan(count);
    }
    return scores;
  }

private:
  static constexpr int kMostFailures = 3;  // consecutive failed rows after which score() throws

  /// Sends the rows as one request, and appends their rewards to `scores`. If the command fails,
  /// sends the rows again, one by one.
  void answer(std::span<const RewardRow> rows, std::vector<double>& scores) {
    try {
      const std::vector<double> answers = ask(rows);
      scores.insert(scores.end(), answers.begin(), answers.end());
      return;
    } catch (const Failure& failure) {
      child_.reset();
      const std::exception_ptr first = std::current_exception();
      warn_(failure.report().sentence + "; it is started again, and gets these rows one by one");
      for (std::size_t i = 0; i < rows.size(); ++i)
        scores.push_back(answer_alone(rows.subspan(i, 1)));
      if (!has_answered_) std::rethrow_exception(first);
    }
  }

  /// Returns the reward of a single row; NaN if the command fails again. Throws the failure if
  /// the command has failed with kMostFailures single rows in succession.
  double answer_alone(std::span<const RewardRow> row) {
    try {
      return ask(row).front();
    } catch (const Failure& failure) {
      child_.reset();
      if (++failures_ >= kMostFailures) throw;
      warn_(failure.report().sentence + "; the row has no reward");
      return std::numeric_limits<double>::quiet_NaN();
    }
  }

  /// Sends the rows to the command, and returns its rewards. Starts the command if it is not
  /// running.
  std::vector<double> ask(std::span<const RewardRow> rows) {
    if (!child_) child_ = std::make_unique<ChildProcess>(command_);
    std::string request;
    const std::int64_t first = row_;
    for (const RewardRow& row : rows)
      request += formats::to_json_line(JsonValue::Members{{"row", row_++},
                                                          {"prompt", row.prompt},
                                                          {"completion", row.completion},
                                                          {"answer", row.answer}},
                                       formats::BadUtf8::replace) +
                 "\n";
    std::int64_t number = first;
    std::vector<double> scores;
    for (const std::string& line : child_->ask(request, rows.size(), timeout_s_))
      scores.push_back(reward_in(line, number++));
    has_answered_ = true;
    failures_ = 0;
    return scores;
  }

  double reward_in(const std::string& line, std::int64_t number) const {
    const JsonValue answer = object_in(line);
    const JsonValue* row = answer.find("row");
    if (row != nullptr && (row->integer() == nullptr || *row->integer() != number))
      child_->fail("answered another row than row " + std::to_string(number) + ": " + shown(line));
    const JsonValue* reward = answer.find("reward");
    if (reward == nullptr || reward->is_null()) return std::numeric_limits<double>::quiet_NaN();
    if (reward->integer() == nullptr && reward->real() == nullptr)
      child_->fail("wrote a reward that is no number: " + shown(line));
    return reward->as<double>();
  }

  JsonValue object_in(const std::string& line) const {
    try {
      return formats::parse_json_object(line);
    } catch (const formats::JsonError&) {
      child_->fail("wrote a line that is no JSON object: " + shown(line));
    }
  }

  static std::string shown(const std::string& line) {
    return printable(line.substr(0, kShownBytes));
  }

  std::string command_;
  std::size_t rows_per_call_;
  double timeout_s_;
  std::function<void(const std::string&)> warn_;
  std::unique_ptr<ChildProcess> child_;
  bool has_answered_ = false;
  int failures_ = 0;      // consecutive single rows with which the command failed
  std::int64_t row_ = 0;  // number of the next row that is sent
};

}  // namespace

RewardEntry command_reward() {
  return {.name = "command",
          .summary = "the `reward` that the program of reward.command writes for the row",
          .key = "reward.command",
          .make = [](const RewardSettings& settings) -> std::unique_ptr<Reward> {
            return std::make_unique<CommandReward>(settings);
          }};
}

}  // namespace mgpu::rewards
