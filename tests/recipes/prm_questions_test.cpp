// Tests how recipe prm splits, shuffles and pairs the solutions of questions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "recipes/prm/loss.hpp"
#include "recipes/prm/questions.hpp"
#include "recipes/prm/step_metrics.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNoLabel = -1.0;  // at tokens that end no step
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A solution of a question, with the labels of its steps.
struct Labeled {
  std::string question;
  std::vector<double> labels;
};

/// Returns examples with one token for the prompt, which is the index of the solution, and two for
/// each step.
lm::LmExamples examples_of(const std::vector<Labeled>& solutions) {
  lm::LmExamples examples;
  std::vector<double>& column = examples.token_columns[kStepLabelColumn];
  const auto add = [&](std::int64_t id, std::uint8_t is_learned, double label) {
    examples.ids.push_back(id);
    examples.is_learned.push_back(is_learned);
    column.push_back(label);
  };
  for (const Labeled& solution : solutions) {
    add(static_cast<std::int64_t>(examples.size()), 0, kNoLabel);
    for (const double label : solution.labels) {
      add(100, 0, label);
      add(101, 1, kNoLabel);
    }
    examples.ends.push_back(std::ssize(examples.ids));
    examples.texts[kQuestionTexts].push_back(solution.question);
  }
  return examples;
}

lm::LmExamples numbered(const std::vector<Labeled>& solutions) {
  lm::LmExamples examples = examples_of(solutions);
  number_questions(examples);
  return examples;
}

/// Returns for each example the index of its solution in the argument of examples_of().
std::vector<std::int64_t> solutions_in(const lm::LmExamples& examples) {
  std::vector<std::int64_t> solutions;
  for (std::size_t example = 0; example < examples.size(); ++example)
    solutions.push_back(examples.ids[static_cast<std::size_t>(examples.begin(example))]);
  return solutions;
}

/// Returns the labels of the steps of an example, and checks that no other token has one.
std::vector<double> labels_in(const lm::LmExamples& examples, std::size_t example) {
  const std::vector<double>& column = examples.token_columns.at(kStepLabelColumn);
  std::vector<double> labels;
  for (std::int64_t i = examples.begin(example); i < examples.ends[example]; ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (examples.ids[place] == 100)
      labels.push_back(column[place]);
    else
      EXPECT_EQ(column[place], kNoLabel) << place;
  }
  return labels;
}

/// Returns the questions from "0" to "199" that are held out, with two solutions each.
std::set<std::string> held_out(std::uint64_t seed, double share) {
  std::vector<Labeled> solutions;
  for (int i = 0; i < 400; ++i)
    solutions.push_back({std::to_string(i % 200), {1.0}});
  lm::LmExamples kept = examples_of(solutions);
  keep_questions({seed, share, true}, kept);
  const std::vector<std::string>& texts = kept.texts[kQuestionTexts];
  const std::set<std::string> questions(texts.begin(), texts.end());
  EXPECT_EQ(texts.size(), 2 * questions.size());  // all solutions of a question, or none
  return questions;
}

TEST(HeldOutQuestionsTest, AboutTheShareIsHeldOut) {
  EXPECT_THAT(held_out(1, 0.0), IsEmpty());
  for (const double share : {0.1, 0.5, 0.9}) {
    const double deviation = std::sqrt(200 * share * (1 - share));
    EXPECT_NEAR(static_cast<double>(held_out(1, share).size()), 200 * share, 4 * deviation);
  }
}

TEST(HeldOutQuestionsTest, ALargerShareHoldsOutMoreOfTheSameQuestions) {
  const std::set<std::string> few = held_out(1, 0.2);
  const std::set<std::string> more = held_out(1, 0.5);
  EXPECT_TRUE(std::ranges::includes(more, few));
  EXPECT_NE(held_out(2, 0.2), few);
}

TEST(HeldOutQuestionsTest, BothPartsTogetherAreAllSolutionsUnchanged) {
  std::vector<Labeled> solutions;
  for (std::size_t i = 0; i < 60; ++i)
    solutions.push_back(
        {std::to_string(i % 20), std::vector<double>(1 + i % 3, 0.01 * static_cast<double>(i))});
  std::vector<std::int64_t> found;
  for (const bool keeps_held_out : {true, false}) {
    lm::LmExamples part = examples_of(solutions);
    keep_questions({.seed = 3, .share = 0.5, .keeps_held_out = keeps_held_out}, part);
    const std::vector<std::int64_t> kept = solutions_in(part);
    EXPECT_TRUE(std::ranges::is_sorted(kept));
    EXPECT_GT(kept.size(), 6U);
    for (std::size_t example = 0; example < kept.size(); ++example) {
      const Labeled& solution = solutions[static_cast<std::size_t>(kept[example])];
      EXPECT_EQ(labels_in(part, example), solution.labels);
      EXPECT_EQ(part.texts[kQuestionTexts][example], solution.question);
      EXPECT_EQ(part.predictions(example), std::ssize(solution.labels));
    }
    found.insert(found.end(), kept.begin(), kept.end());
  }
  std::ranges::sort(found);
  EXPECT_EQ(found, solutions_in(examples_of(solutions)));
}

TEST(QuestionNumbersTest, NumbersFollowTheFirstSolutions) {
  const lm::LmExamples examples = numbered({{"z", {1}}, {"a", {0, 1, 1}}, {"z", {0, 0}}, {"", {}}});
  EXPECT_THAT(examples.sequence_columns.at(kQuestionColumn), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(examples.sequence_columns.at(kMostStepsColumn), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(examples.texts, IsEmpty());
}

TEST(ShuffledLabelsTest, StepsOfAllSolutionsOfAQuestionExchangeTheirLabels) {
  std::map<std::vector<double>, int> orders;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    lm::LmExamples examples = numbered({{"q", {0.1, 0.2}}, {"r", {0.5}}, {"q", {0.3}}});
    shuffle_labels(seed, examples);
    std::vector<double> order = labels_in(examples, 0);
    order.push_back(labels_in(examples, 2).at(0));
    ++orders[order];
    EXPECT_THAT(labels_in(examples, 1), ElementsAre(0.5));
  }
  EXPECT_EQ(orders.size(), 6U);  // all permutations of three labels, 100 times each
  for (const auto& [order, times] : orders)
    EXPECT_NEAR(times, 100, 5 * std::sqrt(600.0 / 6 * 5 / 6)) << order[0] << " " << order[1];
}

TEST(ShuffledLabelsTest, ASeedGivesOneOrderForEachQuestion) {
  std::vector<double> labels(20);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = 0.05 * static_cast<double>(i);
  lm::LmExamples first = numbered({{"q", labels}, {"r", labels}});
  lm::LmExamples second = first;
  shuffle_labels(7, first);
  shuffle_labels(7, second);
  EXPECT_EQ(first.token_columns, second.token_columns);
  EXPECT_NE(labels_in(first, 0), labels_in(first, 1));
}

TEST(JoinedSolutionsTest, TheBestIsJoinedWithTheWorstAndSoOnInwards) {
  lm::LmExamples examples = numbered({{"q", {0.5, 0.5}},    // mean 0.5, the odd one
                                      {"q", {1, 0, 1, 1}},  // 0.75
                                      {"q", {0}},
                                      {"q", {1}},
                                      {"q", {0, 0.5}}});  // 0.25
  join_solutions(examples);
  EXPECT_THAT(solutions_in(examples), ElementsAre(3, 2, 1, 4));
  EXPECT_EQ(examples.group_size, 2);
  EXPECT_THAT(labels_in(examples, 2), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(labels_in(examples, 3), ElementsAre(0, 0.5));
  EXPECT_THAT(examples.sequence_columns.at(kMostStepsColumn), ElementsAre(4, 4, 4, 4));
}

TEST(JoinedSolutionsTest, OnlyStepsWithDifferentLabelsAreCompared) {
  lm::LmExamples examples = numbered({{"same", {1, 1}},
                                      {"same", {1}},
                                      {"equal means", {1, 0}},
                                      {"equal means", {0.5}},
                                      {"alone", {0, 1}}});
  join_solutions(examples);
  EXPECT_THAT(solutions_in(examples), ElementsAre(2, 3));
  EXPECT_THAT(examples.sequence_columns.at(kQuestionColumn), ElementsAre(1, 1));
  lm::LmExamples alone = numbered({{"q", {0}}, {"r", {1}}});
  join_solutions(alone);
  EXPECT_EQ(alone.size(), 0U);
}

/// Returns a step of a question. Its label is 1 if it is right, otherwise 0.
JudgedStep step(std::int64_t question, double logit, bool is_right) {
  return {question, logit, is_right ? 1.0 : 0.0, is_right};
}

TEST(StepMetricsTest, EqualLogitsCountHalfInAnyOrder) {
  // Of four pairs, the step with logit 2 wins two, and that with logit 1 ties with two.
  std::vector<JudgedStep> steps = {step(0, 1, true), step(0, 1, false), step(0, 1, false),
                                   step(0, 2, true)};
  const auto by_right = [](const JudgedStep& a, const JudgedStep& b) {
    return a.is_right < b.is_right;
  };
  for (int order = 0; order < 4; ++order) {
    EXPECT_EQ(area_under_curve(steps), 0.75);
    EXPECT_EQ(area_within_questions(steps), 0.75);
    std::ranges::rotate(steps, steps.begin() + 1);
    if (order == 2) std::ranges::stable_sort(steps, by_right);
  }
  EXPECT_EQ(area_under_curve(std::vector{step(0, -kInfinity, false), step(0, kInfinity, true)}), 1);
  EXPECT_EQ(area_under_curve(std::vector{step(0, kInfinity, false), step(0, kInfinity, true)}),
            0.5);
}

TEST(StepMetricsTest, QuestionsCountAlikeAndThoseOfOneKindDoNot) {
  const std::vector<JudgedStep> steps = {step(4, 3, true),  step(1, 0, true),   step(4, 1, false),
                                         step(1, 5, false), step(4, -1, false), step(4, 2, false),
                                         step(9, 7, true),  step(9, -7, true)};
  EXPECT_EQ(area_within_questions(steps), 0.5);  // 1 for question 4, and 0 for question 1
  EXPECT_EQ(area_under_curve(steps), (4 + 1 + 3 + 0) / 16.0);
}

TEST(StepMetricsTest, TheCalibrationErrorComparesMeansWithinBins) {
  const double z = std::log(3.0);  // a probability of 0.75
  const auto error = [](const std::vector<JudgedStep>& steps) { return calibration_error(steps); };
  EXPECT_NEAR(error({step(0, 0, true), step(1, 0, false)}), 0.0, 1e-15);
  EXPECT_NEAR(error({step(0, 0, true), step(1, 0, true)}), 0.5, 1e-15);
  EXPECT_NEAR(error({step(0, z, false), step(0, -z, true)}), 0.75, 1e-15);  // they do not cancel
  EXPECT_NEAR(error({{0, z, 0.5, false}, {0, z, 1.0, true}, {0, -z, 0.25, false}}), 0.0, 1e-15);
  EXPECT_NEAR(error({step(0, 800, true), step(0, -800, false)}), 0.0, 1e-15);  // exactly 1 and 0
  EXPECT_NEAR(error({step(0, 800, false), step(0, -800, false)}), 0.5, 1e-15);
}

TEST(StepMetricsTest, LogitsThatAreNoNumbersGiveNoMetrics) {
  const std::vector<JudgedStep> steps = {step(0, 1, true), step(0, std::nan(""), false),
                                         step(0, 0, false)};
  EXPECT_TRUE(std::isnan(area_under_curve(steps)));
  EXPECT_TRUE(std::isnan(area_within_questions(steps)));
  EXPECT_TRUE(std::isnan(calibration_error(steps)));
}

}  // namespace
}  // namespace mgpu::recipes
