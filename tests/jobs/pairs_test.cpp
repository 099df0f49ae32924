// Tests which completions of a prompt `--export pairs` chooses, and which ones it rejects.
#include "jobs/generate/pairs.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace mgpu::jobs {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<std::int64_t>;

/// Returns chosen and rejected rows, one after the other.
Rows rows_of(const Rows& prompts, const std::vector<double>& returns) {
  Rows rows;
  for (const CompletionPair& pair : best_and_worst(prompts, returns)) {
    rows.push_back(pair.chosen);
    rows.push_back(pair.rejected);
  }
  return rows;
}

TEST(BestAndWorstTest, EachPromptHasItsHighestAndLowestReturn) {
  EXPECT_EQ(rows_of({4, 4, 4, 7, 7}, {0.5, 2.0, -1.0, 0.0, 1.0}), (Rows{1, 2, 4, 3}));
}

TEST(BestAndWorstTest, OfEqualReturnsTheFirstCounts) {
  EXPECT_EQ(rows_of({0, 0, 0, 0}, {1.0, 0.0, 1.0, 0.0}), (Rows{0, 1}));
}

TEST(BestAndWorstTest, EqualReturnsTeachNothing) {
  EXPECT_EQ(rows_of({0, 0, 1, 2, 2}, {1.0, 1.0, 3.0, 0.0, 1.0}), (Rows{4, 3}));
}

TEST(BestAndWorstTest, CompletionsWithoutAReturnAreLeftOut) {
  EXPECT_EQ(rows_of({0, 0, 0, 1, 1}, {kNothing, 1.0, 2.0, kNothing, 1.0}), (Rows{2, 1}));
  EXPECT_EQ(rows_of({}, {}), Rows{});
}

TEST(FirstAndOthersTest, EachOtherCompletionIsComparedWithTheFirst) {
  const auto rows = [](const std::vector<double>& returns, bool has_ties) {
    Rows all;
    for (const CompletionPair& pair : first_and_others(Rows{0, 0, 0, 3, 3}, returns, has_ties)) {
      all.push_back(pair.chosen);
      all.push_back(pair.rejected);
    }
    return all;
  };
  EXPECT_EQ(rows({1.0, 2.0, 0.0, 5.0, 5.0}, false), (Rows{1, 0, 0, 2}));
  EXPECT_EQ(rows({1.0, 2.0, 0.0, 5.0, 5.0}, true), (Rows{1, 0, 0, 2, 3, 4}));
  EXPECT_EQ(rows({kNothing, 2.0, 0.0, 5.0, kNothing}, true), Rows{});
}

}  // namespace
}  // namespace mgpu::jobs
