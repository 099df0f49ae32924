// Tests which completion of a prompt a search chooses.
#include "jobs/generate/search_choice.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/generate/search_scores.hpp"

namespace mgpu::jobs {
namespace {

constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();

std::optional<std::size_t> voted(const std::vector<double>& scores,
                                 const std::vector<std::int32_t>& same_as) {
  return voted_of(scores, same_as);
}

TEST(SearchChoiceTest, TheHighestScoreWinsAndOfEqualOnesTheFirst) {
  EXPECT_EQ(best_of(std::vector{0.2, 0.9, 0.9, 0.1}), 1U);
  EXPECT_EQ(best_of(std::vector{kNoScore, 0.0, kNoScore}), 1U);
  EXPECT_EQ(best_of(std::vector{kNoScore, kNoScore}), 0U);
}

TEST(SearchChoiceTest, TheAnswerWithTheHighestSumOfScoresWins) {
  EXPECT_EQ(voted({0.4, 0.9, 0.6}, {0, 1, 0}), 0U);        // 1.0 against 0.9
  EXPECT_EQ(voted({0.4, 0.9, 0.4}, {0, 1, 0}), 1U);        // 0.8 against 0.9
  EXPECT_EQ(voted({0.5, 0.25, 0.25}, {0, 1, 1}), 0U);      // equal sums
  EXPECT_EQ(voted({0.9, kNoScore, 0.1}, {-1, 1, 2}), 2U);  // no answer, no score
  EXPECT_EQ(voted({0.0}, {0}), 0U);
  EXPECT_EQ(voted({0.9, kNoScore}, {-1, 1}), std::nullopt);
  EXPECT_EQ(chosen_of(SearchKind::best_of_n, std::vector{0.1, 0.2}, std::vector{-1, -1}), 1U);
}

TEST(SearchChoiceTest, OnlyTheFirstCompletionsVote) {
  const std::vector<std::int32_t> same_as{0, 1, 0, 1, 1};
  EXPECT_EQ(voted({0.3, 0.5}, same_as), 1U);
  EXPECT_EQ(voted({0.3, 0.5, 0.4}, same_as), 0U);
  EXPECT_EQ(voted({0.3, 0.5, 0.4, 0.1, 0.2}, same_as), 1U);
}

TEST(SearchChoiceTest, AnswersWithoutAnyProbabilityStillVote) {
  EXPECT_EQ(voted({0.0, 0.0, 0.0}, {0, 1, 1}), 0U);
  EXPECT_EQ(voted({kNoScore, 0.0}, {0, 1}), 1U);
  EXPECT_EQ(voted({kNoScore, 0.25, 0.2}, {0, 0, 2}), 0U);  // the answer of a scored completion
}

TEST(SearchChoiceTest, AVoteAndTheBestCompletionMayDiffer) {
  const std::vector<double> scores{0.4, 0.5, 0.4};
  const std::vector<std::int32_t> same_as{0, 1, 0};
  EXPECT_EQ(chosen_of(SearchKind::best_of_n, scores, same_as), 1U);
  EXPECT_EQ(chosen_of(SearchKind::weighted_vote, scores, same_as), 0U);
  EXPECT_EQ(chosen_of(SearchKind::weighted_vote, std::vector{0.1}, std::vector{-1}), std::nullopt);
}

TEST(SearchChoiceTest, OneStepIsTheScoreOfItsCompletion) {
  for (const StepAggregate aggregate :
       {StepAggregate::min, StepAggregate::product, StepAggregate::last})
    EXPECT_EQ(aggregate_of(aggregate, std::vector{0.375}), 0.375);
}

TEST(SearchChoiceTest, ProbabilitiesOfStepsBecomeOneScore) {
  const std::vector<double> steps{0.5, 0.25, 1.0};
  EXPECT_EQ(aggregate_of(StepAggregate::min, steps), 0.25);
  EXPECT_EQ(aggregate_of(StepAggregate::product, steps), 0.125);
  EXPECT_EQ(aggregate_of(StepAggregate::last, steps), 1.0);
}

}  // namespace
}  // namespace mgpu::jobs
