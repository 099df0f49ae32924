// Tests the rewards that need neither a model nor a command, with their weights and keys.
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/config/config.hpp>
#include <mgpu/rewards/registry.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::rewards {
namespace {

const std::vector<RewardRow> kRows = {
    {"1 + 1 =", "so \\boxed{2}", "2.0"}, {"1 + 2 =", "it is 4", "3"}, {"what?", "", ""}};

Config config_of(const std::map<std::string, std::string>& values) {
  static const KeyTable kTable = [] {
    KeyTable table;
    add_reward_keys(table);
    return table;
  }();
  std::map<std::string, Config::Value, std::less<>> given;
  for (const auto& [name, text] : values)
    given[name] = {.text = text, .place = {.origin = "command line"}};
  return {kTable, std::move(given)};
}

Scores scores_of(const std::map<std::string, std::string>& values) {
  const Config config = config_of(values);
  check_reward_keys(config);
  return WeightedRewards(read_reward_settings(config)).score(kRows);
}

ErrorReport failure_of(const std::map<std::string, std::string>& values) {
  try {
    scores_of(values);
  } catch (const Failure& failure) {
    return failure.report();
  }
  return {};
}

TEST(RewardsTest, MatchComparesAnswers) {
  EXPECT_EQ(scores_of({{"reward.functions", "[match]"}}).total, (std::vector{1.0, 0.0, 0.0}));
}

TEST(RewardsTest, RegexSearchesTheCompletion) {
  EXPECT_EQ(scores_of({{"reward.functions", "[regex]"}, {"reward.regex", R"(\bit|^$)"}}).total,
            (std::vector{0.0, 1.0, 1.0}));
}

TEST(RewardsTest, AnExpressionThatGivesUpLeavesNoScore) {
  const std::string completion = std::string(5000, 'a') + "b";
  RewardSettings settings{.names = {"regex"}, .weights = {1.0}, .regex = "(a*)*(a*)*(a*)*$x"};
  const RewardRow row{"", completion, ""};
  const double score = WeightedRewards(settings).score({&row, 1}).total[0];
  EXPECT_TRUE(std::isnan(score) || score == 0.0);
}

TEST(RewardsTest, LengthCountsCharacters) {
  const Scores scores = scores_of({{"reward.functions", "[length]"}, {"reward.length", "6"}});
  EXPECT_EQ(scores.total, (std::vector{0.0, 1.0 - 1.0 / 6.0, 0.0}));
  RewardSettings settings{.names = {"length"}, .weights = {1.0}, .length = 3};
  const RewardRow row{"", "äöü", ""};
  EXPECT_EQ(WeightedRewards(settings).score({&row, 1}).total[0], 1.0);
}

/// Takes the place of the reward `model`. Its score is the number of messages plus one half.
class CountedReward final : public Reward {
public:
  std::vector<double> score(std::span<const RewardRow> rows) override {
    std::vector<double> scores;
    for (const RewardRow& row : rows)
      scores.push_back(static_cast<double>(row.messages.size()) + 0.5);
    return scores;
  }
};

TEST(RewardsTest, AModelIsMadeByTheCaller) {
  const RewardSettings settings{
      .names = {"match", "model"}, .weights = {1.0, 4.0}, .model = "folder"};
  const std::vector<text::ChatMessage> messages = {{"user", "1 + 1?"}, {"assistant", "2"}};
  const std::vector<RewardRow> rows = {{"", "2", "2", messages}, {"", "3", "2"}};

  WeightedRewards rewards(settings, std::make_unique<CountedReward>());

  EXPECT_EQ(rewards.score(rows).total, (std::vector{11.0, 2.0}));
  EXPECT_THROW(WeightedRewards{settings}, Error);
  EXPECT_NO_THROW(check_rewards(settings));
  EXPECT_TRUE(settings.has_model());
  EXPECT_EQ(failure_of({{"reward.functions", "[model]"}}).code, "E124");
  EXPECT_EQ(failure_of({{"reward.model", "folder"}}).code, "E124");
}

TEST(RewardsTest, AFileListsRewards) {
  const testing_support::TemporaryFolder folder;
  const std::string path = (folder.path() / "rewards.jsonl").string();
  std::ofstream(path) << R"({"prompt": "1 + 2 =", "completion": "it is 4", "reward": -0.5})"
                      << '\n';
  const Scores scores = scores_of({{"reward.functions", "[file]"}, {"reward.file", path}});
  EXPECT_TRUE(std::isnan(scores.total[0]));
  EXPECT_EQ(scores.total[1], -0.5);
  const Scores without_weight =
      scores_of({{"reward.functions", "{match: 1, file: 0}"}, {"reward.file", path}});
  EXPECT_EQ(without_weight.total[0], 1.0);  // a missing score without weight does not matter
  std::ofstream(path) << R"({"prompt": "a", "completion": "b", "reward": 1})"
                      << "\n"
                      << R"({"prompt": "a", "completion": "b", "reward": 1})"
                      << "\n";
  const ErrorReport twice = failure_of({{"reward.functions", "[file]"}, {"reward.file", path}});
  EXPECT_EQ(twice.code, "E552");
  EXPECT_EQ(twice.lines, std::vector{"  --> " + path + ":2"});
  std::ofstream(path) << R"({"prompt": "a", "completion": "b", "reward": "1"})"
                      << "\n";
  EXPECT_EQ(failure_of({{"reward.functions", "[file]"}, {"reward.file", path}}).code, "E552");
}

TEST(RewardsTest, WeightsAddRewards) {
  const Scores scores =
      scores_of({{"reward.functions", "{match: 2, regex: -0.5}"}, {"reward.regex", "."}});
  EXPECT_EQ(scores.total, (std::vector{1.5, -0.5, 0.0}));
  EXPECT_EQ(scores.parts, (std::vector<std::vector<double>>{{1.0, 0.0, 0.0}, {1.0, 1.0, 0.0}}));
}

TEST(RewardsTest, WrongKeysAreRefused) {
  EXPECT_EQ(failure_of({{"reward.functions", "[mach]"}}).help, "reward.functions=[match]");
  EXPECT_EQ(failure_of({{"reward.functions", "[match, match]"}}).code, "E107");
  EXPECT_EQ(failure_of({{"reward.functions", "{match: much}"}}).code, "E107");
  EXPECT_EQ(failure_of({{"reward.functions", "[regex]"}}).code, "E124");
  EXPECT_EQ(failure_of({{"reward.length", "5"}}).code, "E124");
  EXPECT_EQ(failure_of({{"reward.functions", "[match]"}, {"reward.timeout", "5"}}).code, "E124");
  const ErrorReport bad = failure_of({{"reward.functions", "[regex]"}, {"reward.regex", "a(b"}});
  EXPECT_EQ(bad.code, "E107");
  EXPECT_NE(bad.sentence.find("at character 4"), std::string::npos) << bad.sentence;
  const ErrorReport wide = failure_of({{"reward.functions", "[regex]"}, {"reward.regex", "ä(b"}});
  EXPECT_NE(wide.sentence.find("at character 4"), std::string::npos) << wide.sentence;
}

}  // namespace
}  // namespace mgpu::rewards
