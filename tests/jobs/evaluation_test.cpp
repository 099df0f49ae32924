// Tests the metrics of completions, and the tables and results made of them.
#include "jobs/generate/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "jobs/generate/answers.hpp"
#include "jobs/generate/evaluation_tables.hpp"
#include "store/chunk_values.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::NanSensitiveDoubleEq;

constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

template <class T>
store::ReadColumn column(const std::string& name, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {{name, store::column_type<T>(), 1, "", ""}, {bytes.begin(), bytes.end()}};
}

/// Returns the rows of three prompts with four completions each. The second prompt was not
/// completed, so its rows have no values.
store::ReadTable rows() {
  store::ReadTable rows{12, 0, {}};
  rows.columns = {
      column<std::int64_t>("prompt_index", {4, 4, 4, 4, 5, 5, 5, 5, 9, 9, 9, 9}),
      column<double>("score", {0, 1, 1, 0, kNoScore, kNoScore, kNoScore, kNoScore, 1, 0, 0, 0}),
      column<std::int32_t>("same_as", {0, 1, 1, -1, -1, -1, -1, -1, 0, 1, 2, 2}),
      column<double>(
          "reward", {1, 2, 3, 6, kNoScore, kNoScore, kNoScore, kNoScore, 1, kNoScore, 3, kNoScore}),
      column<double>(
          "kl", {0.5, 0.25, 0.25, kNoScore, kNoScore, kNoScore, kNoScore, kNoScore, 0, 0, 0, 4})};
  return rows;
}

std::vector<double> values(const Evaluation& evaluation, const std::string& key) {
  const PromptMetric* metric = evaluation.find(key);
  if (metric == nullptr) ADD_FAILURE() << "no " << key;
  return metric == nullptr ? std::vector<double>() : metric->values;
}

TEST(EvaluationTest, PassAndMajorityAreThoseOfEachPrompt) {
  const Evaluation evaluation = evaluate_rows(rows());
  EXPECT_THAT(evaluation.prompts, ElementsAre(4, 5, 9));
  EXPECT_THAT(evaluation.samples, ElementsAre(4, 4, 4));
  EXPECT_THAT(evaluation.right, ElementsAre(2, 0, 1));
  EXPECT_THAT(evaluation.counts, ElementsAre(1, 2, 4));
  const auto are = [&](const std::string& key, double first, double third) {
    EXPECT_THAT(values(evaluation, key),
                ElementsAre(NanSensitiveDoubleEq(first), NanSensitiveDoubleEq(kNoScore),
                            NanSensitiveDoubleEq(third)))
        << key;
  };
  are("score", 0.5, 0.25);
  are("first_right", 0, 1);
  are("pass_1", 0.5, 0.25);
  are("pass_2", 1.0 - 1.0 / 6.0, 0.5);
  are("pass_4", 1, 1);
  are("maj_2", 0, 0);  // the two completions differ, so no answer is most frequent
  are("maj_4", 1, 0);  // the most frequent answer of prompt 9 is wrong
  EXPECT_EQ(evaluation.find("maj_1"), nullptr);
}

TEST(EvaluationTest, MeansLeaveOutCompletionsWithoutAValue) {
  const Evaluation evaluation = evaluate_rows(rows());
  EXPECT_THAT(values(evaluation, "reward"), ElementsAre(3, NanSensitiveDoubleEq(kNoScore), 2));
  EXPECT_THAT(values(evaluation, "kl"),
              ElementsAre(testing::DoubleEq(1.0 / 3.0), NanSensitiveDoubleEq(kNoScore), 1));
  const Estimate reward = estimate_of(evaluation, *evaluation.find("reward"));
  EXPECT_EQ(reward.count, 2);
  EXPECT_DOUBLE_EQ(reward.mean, 2.5);
  EXPECT_DOUBLE_EQ(reward.standard_error, 0.5);
}

TEST(EvaluationTest, RewardMatchTellsWhatIsRightWithoutADataSet) {
  store::ReadTable table = rows();
  table.columns[1].spec.name = "reward_match";
  const Evaluation evaluation = evaluate_rows(table);
  EXPECT_EQ(evaluation.find("score"), nullptr);
  EXPECT_THAT(evaluation.right, ElementsAre(2, 0, 1));
  EXPECT_EQ(evaluation.find("reward_match")->label, "reward match");
}

TEST(EvaluationTest, WithoutAnswersThereIsNoPassRate) {
  store::ReadTable table = rows();
  table.columns.erase(table.columns.begin() + 1, table.columns.begin() + 3);
  const Evaluation evaluation = evaluate_rows(table);
  EXPECT_THAT(evaluation.right, IsEmpty());
  EXPECT_THAT(evaluation.counts, IsEmpty());
  EXPECT_EQ(evaluation.metrics.size(), 2U);
}

TEST(EvaluationTest, SearchesAreComparedWithOtherChoicesPromptByPrompt) {
  store::ReadTable table = rows();
  table.columns.push_back(column<double>("search_score", {0.1, 0.3, 0.2, 0.9, kNoScore, kNoScore,
                                                          kNoScore, kNoScore, 0.2, 0.5, 0.1, 0.1}));
  const Evaluation evaluation = evaluate_rows(table, SearchKind::best_of_n);
  const auto are = [&](const std::string& key, double first, double third) {
    EXPECT_THAT(values(evaluation, key), ElementsAre(first, NanSensitiveDoubleEq(kNoScore), third));
  };
  are("best_2", 1.0, 0.0);
  are("best_4", 0.0, 0.0);
  are("weighted_4", 1.0, 0.0);
  are("over_random_4", -0.5, -0.25);
  are("over_maj_4", -1.0, 0.0);
  EXPECT_TRUE(evaluation.is_of_search("best_4", 4));
  EXPECT_FALSE(evaluation.is_of_search("weighted_4", 4));
  EXPECT_EQ(evaluate_rows(table).find("best_4"), nullptr);
}

TEST(EvaluationTest, GainsOfASearchHaveTheIntervalsOfPairs) {
  store::ReadTable table = rows();
  table.columns.push_back(column<double>("search_score", {0.1, 0.3, 0.2, 0.9, kNoScore, kNoScore,
                                                          kNoScore, kNoScore, 0.2, 0.5, 0.1, 0.1}));
  const Evaluation evaluation = evaluate_rows(table, SearchKind::weighted_vote);
  const auto are = [&](const std::string& key, double first, double third) {
    EXPECT_THAT(values(evaluation, key), ElementsAre(first, NanSensitiveDoubleEq(kNoScore), third))
        << key;
  };
  are("weighted_2", 1.0, 0.0);
  are("over_random_2", 0.5, -0.25);
  are("over_maj_2", 1.0, 0.0);
  are("over_maj_4", 0.0, 0.0);
  EXPECT_TRUE(evaluation.is_of_search("weighted_4", 4));
  EXPECT_TRUE(evaluation.is_of_search("over_random_4", 4));
  EXPECT_FALSE(evaluation.is_of_search("over_random_4", 2));
  EXPECT_FALSE(evaluate_rows(table).is_of_search("weighted_4", 4));

  const auto results = evaluation_results(evaluation);
  const auto gain = std::ranges::find(results, "over_random_2", &report::Result::key);
  ASSERT_NE(gain, results.end());
  EXPECT_EQ(gain->value, 0.125);
  EXPECT_EQ(gain->estimate->standard_error, 0.375);  // of the differences 0.5 and -0.25
  EXPECT_EQ(gain->interval(), "[-4.6398, 4.8898]");  // 0.125 +- 12.7062 * 0.375
}

TEST(EvaluationTest, CompletionsWithoutAScoreAreChosenLastAndDoNotVote) {
  store::ReadTable table = rows();
  table.columns.push_back(
      column<double>("search_score", {kNoScore, 0.0, kNoScore, kNoScore, kNoScore, kNoScore,
                                      kNoScore, kNoScore, kNoScore, kNoScore, kNoScore, kNoScore}));
  const Evaluation evaluation = evaluate_rows(table, SearchKind::best_of_n);
  const auto are = [&](const std::string& key, double first, double third) {
    EXPECT_THAT(values(evaluation, key), ElementsAre(first, NanSensitiveDoubleEq(kNoScore), third))
        << key;
  };
  are("best_2", 1.0, 1.0);  // the first completion of prompt 9, which is right
  are("best_4", 1.0, 1.0);
  are("weighted_2", 1.0, 0.0);
  are("weighted_4", 1.0, 0.0);
}

TEST(EvaluationTest, GroupsHaveTheirOwnMeans) {
  Evaluation evaluation = evaluate_rows(rows());
  evaluation.checksums = {11, 12, 13};
  evaluation.groups = {"easy", "", "hard"};
  const auto tables = evaluation_tables(evaluation);
  ASSERT_EQ(tables.size(), 2U);
  const store::test::ChunkValues means(tables[0].spec, tables[0].rows);
  const auto metrics = static_cast<std::int64_t>(evaluation.metrics.size());
  EXPECT_EQ(means.rows(), 3 * metrics);
  const std::vector<std::string> groups = means.texts("group");
  EXPECT_EQ(std::ranges::count(groups, ""), metrics);
  EXPECT_EQ(std::ranges::count(groups, "easy"), metrics);
  EXPECT_EQ(means.texts("metric")[0], "score");
  EXPECT_EQ(means.numbers<double>("mean")[0], 0.375);
  EXPECT_EQ(means.numbers<std::int64_t>("prompts")[0], 2);
  EXPECT_EQ(means.numbers<double>("mean")[static_cast<std::size_t>(metrics)], 0.5);
  EXPECT_TRUE(
      std::isnan(means.numbers<double>("standard_error")[static_cast<std::size_t>(metrics)]));
}

TEST(EvaluationTest, TheTableOfPromptsHasAllValues) {
  Evaluation evaluation = evaluate_rows(rows());
  evaluation.checksums = {11, 12, 13};
  evaluation.groups = {"", "", ""};
  const auto tables = evaluation_tables(evaluation);
  const store::test::ChunkValues prompts(tables[1].spec, tables[1].rows);
  EXPECT_THAT(
      store::test::names_of(tables[1].spec),
      ElementsAre("prompt_index", "prompt_crc32c", "samples", "right", "score", "first_right",
                  "pass_1", "pass_2", "pass_4", "maj_2", "maj_4", "reward", "kl"));
  EXPECT_THAT(prompts.numbers<std::int64_t>("prompt_crc32c"), ElementsAre(11, 12, 13));
  EXPECT_THAT(prompts.numbers<double>("pass_4"), ElementsAre(1, NanSensitiveDoubleEq(kNoScore), 1));
}

TEST(EvaluationTest, ResultsHaveIntervals) {
  Evaluation evaluation = evaluate_rows(rows());
  for (const report::Result& result : evaluation_results(evaluation)) {
    ASSERT_TRUE(result.estimate) << result.key;
    EXPECT_EQ(result.value, result.estimate->mean) << result.key;
  }
  const auto results = evaluation_results(evaluation);
  EXPECT_EQ(results[2].key, "pass_1");
  EXPECT_EQ(results[2].interval(), "[-1.2133, 1.9633]");  // 0.375 +- 12.7062 * 0.125
}

TEST(AnswersTest, AnswersOfAPromptAreCompared) {
  const std::vector<datasets::Answer> completions = {
      {"It is \\boxed{1/2}", {}}, {"no idea", {}}, {"#### 0.5", {}}, {"about 7", {}}};
  const SampleAnswers answers = answers_of(nullptr, completions);
  EXPECT_THAT(answers.texts, ElementsAre("1/2", "", "0.5", "7"));
  EXPECT_THAT(answers.same_as, ElementsAre(0, -1, 0, 3));
}

}  // namespace
}  // namespace mgpu::jobs
