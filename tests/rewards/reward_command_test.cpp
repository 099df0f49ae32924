// Tests the reward command: answers, rows without a score, and programs that die, hang or write
// nonsense.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/rewards/registry.hpp>

namespace mgpu::rewards {
namespace {

std::vector<RewardRow> rows_of(const std::vector<std::string>& completions) {
  std::vector<RewardRow> rows;
  for (const std::string& completion : completions)
    rows.push_back({"p\"", completion, "a"});
  return rows;
}

std::vector<double> scores_of(const std::string& command, const std::vector<RewardRow>& rows,
                              std::int64_t rows_per_call = 32, double timeout_s = 30) {
  WeightedRewards rewards({.names = {"command"},
                           .weights = {1.0},
                           .command = command,
                           .rows_per_call = rows_per_call,
                           .timeout_s = timeout_s});
  return rewards.score(rows).total;
}

ErrorReport failure_of(const std::string& command, double timeout_s = 30) {
  const std::vector<std::string> completions(3, "a completion");
  try {
    scores_of(command, rows_of(completions), 2, timeout_s);
  } catch (const Failure& failure) {
    return failure.report();
  }
  return {};
}

const std::string kEcho = R"(while read -r line; do echo '{"reward": 0.5}'; done)";

TEST(RewardCommandTest, EveryRowGetsItsReward) {
  const std::vector<std::string> completions(100, "x");
  EXPECT_EQ(scores_of(kEcho, rows_of(completions)), std::vector<double>(100, 0.5));
}

TEST(RewardCommandTest, OneProgramAnswersAllBatches) {
  const std::string count =
      R"(n=0; while read -r line; do n=$((n+1)); echo "{\"row\": $((n-1)), \"reward\": $n}"; done)";
  EXPECT_EQ(scores_of(count, rows_of({"a", "b", "c", "d", "e"}), 2),
            (std::vector{1.0, 2.0, 3.0, 4.0, 5.0}));
}

TEST(RewardCommandTest, TheProgramReadsPromptCompletionAndAnswer) {
  const std::string check = R"(while read -r line; do
    [ "$line" = '{"row":0,"prompt":"p\"","completion":"é\n�","answer":"a"}' ] &&
      echo '{"reward": 1}' || echo '{"reward": 0}'; done)";
  EXPECT_EQ(scores_of(check, rows_of({"é\n\xff"})), std::vector{1.0});
}

TEST(RewardCommandTest, RowsWithoutAScoreAreMarked) {
  const std::string some = R"(read -r a; echo '{"reward": null}'; read -r b; echo '{}'; cat >&2)";
  for (const double score : scores_of(some, rows_of({"a", "b"})))
    EXPECT_TRUE(std::isnan(score));
}

TEST(RewardCommandTest, LargeBatchesDoNotBlock) {
  const std::vector<std::string> completions(64, std::string(20'000, 'x'));
  EXPECT_EQ(
      scores_of("exec sed -u 's/.*/{\"reward\": 2, \"pad\": \"&\"}/; s/\\(\"pad\": \\).*/\\10}/'",
                rows_of(completions), 64),
      std::vector<double>(64, 2.0));
}

TEST(RewardCommandTest, AProgramThatDiesIsNamed) {
  const ErrorReport died = failure_of("echo 'no model' >&2; exit 3");
  EXPECT_EQ(died.code, "E551");
  EXPECT_EQ(died.exit, ExitCode::data);
  EXPECT_EQ(died.sentence,
            "the reward command ended with exit code 3 before it had answered 2 rows");
  ASSERT_EQ(died.lines.size(), 2U);
  EXPECT_NE(died.lines[1].find("no model"), std::string::npos);
  EXPECT_NE(died.help.find("run it by hand: echo"), std::string::npos);
  EXPECT_NE(failure_of("kill -9 $$").sentence.find("ended with signal 9"), std::string::npos);
  EXPECT_NE(failure_of("no_such_program_here").sentence.find("exit code 127"), std::string::npos);
}

TEST(RewardCommandTest, AProgramThatHangsIsEnded) {
  const ErrorReport hung = failure_of("sleep 1000", 0.2);
  EXPECT_EQ(hung.sentence,
            "the reward command did not answer 2 rows within reward.timeout; it has to flush each "
            "line");
  // It answers the first of two rows. When it gets the rows alone, it answers each of them.
  EXPECT_EQ(failure_of("read -r a; echo '{\"reward\": 1}'; sleep 1000", 0.2).code, "");
}

TEST(RewardCommandTest, AProgramThatIsNotThereIsFoundBeforeAnyRow) {
  const auto started = [](const std::string& command) {
    WeightedRewards rewards({.names = {"command"}, .weights = {1.0}, .command = command});
    rewards.start();
    try {
      rewards.check_started();
    } catch (const Failure& failure) {
      return failure.report().sentence;
    }
    return std::string();
  };
  EXPECT_EQ(started(kEcho), "");
  EXPECT_EQ(started("no_such_program_here"),
            "the reward command ended with exit code 127 before it got any rows");
  EXPECT_EQ(started("sleep 0.1; exit 4"),
            "the reward command ended with exit code 4 before it got any rows");
}

/// Scores, and the warnings of a command that failed after it had answered.
struct Repaired {
  std::vector<double> scores;
  std::vector<std::string> warnings;
};

Repaired repaired(const std::string& command, const std::vector<std::string>& completions,
                  std::int64_t rows_per_call = 2) {
  Repaired result;
  WeightedRewards rewards(
      {.names = {"command"},
       .weights = {1.0},
       .command = command,
       .rows_per_call = rows_per_call,
       .timeout_s = 0.5,
       .warn = [&](const std::string& text) { result.warnings.push_back(text); }});
  result.scores = rewards.score(rows_of(completions)).total;
  return result;
}

// Answers 1 to each row, but ends, hangs or writes nonsense for the row with the completion "bad".
std::string fails_with(const std::string& deed) {
  return "while read -r line; do case $line in *bad*) " + deed +
         R"(;; *) echo '{"reward": 1}';; esac; done)";
}

TEST(RewardCommandTest, OnlyTheRowWithWhichItFailsHasNoReward) {
  for (const char* deed : {"exit 3", "sleep 1000", "echo nonsense", "kill -9 $$"}) {
    const Repaired result = repaired(fails_with(deed), {"a", "b", "c", "bad", "d", "e", "f"});
    ASSERT_EQ(result.scores.size(), 7U);
    EXPECT_TRUE(std::isnan(result.scores[3])) << deed;
    for (const std::size_t row : {0U, 1U, 2U, 4U, 5U, 6U})
      EXPECT_EQ(result.scores[row], 1.0) << deed << row;
    ASSERT_EQ(result.warnings.size(), 2U) << deed;
    EXPECT_NE(result.warnings[0].find("it is started again"), std::string::npos);
    EXPECT_NE(result.warnings[1].find("the row has no reward"), std::string::npos);
  }
}

TEST(RewardCommandTest, ThreeRowsInARowEndTheRun) {
  EXPECT_EQ(repaired(fails_with("exit 3"), {"a", "b", "bad", "bad", "c", "d"}).scores[4], 1.0);
  EXPECT_THROW(repaired(fails_with("exit 3"), {"a", "b", "bad", "bad", "bad", "c"}), Failure);
  EXPECT_THROW(repaired(fails_with("exit 3"), {"bad", "bad"}), Failure);  // no row has an answer
  EXPECT_EQ(repaired(fails_with("exit 3"), {"bad", "a", "b"}).scores[2], 1.0);
}

TEST(RewardCommandTest, NonsenseIsNamed) {
  const auto sentence = [](const std::string& text) {
    return failure_of("while read -r line; do echo '" + text + "'; done").sentence;
  };
  EXPECT_NE(sentence("0.5").find("wrote a line that is no JSON object: 0.5"), std::string::npos);
  EXPECT_NE(sentence(R"({"reward": "good"})").find("is no number"), std::string::npos);
  EXPECT_NE(sentence(R"({"reward": 1, "row": 7})").find("another row than row 0"),
            std::string::npos);
  const std::string three = R"(read -r a; read -r b; printf '{}\n{}\n{}\n'; cat >&2)";
  const Repaired result = repaired(three, {"a", "b", "c"});
  EXPECT_NE(result.warnings.at(0).find("more lines than it read"), std::string::npos);
}

}  // namespace
}  // namespace mgpu::rewards
