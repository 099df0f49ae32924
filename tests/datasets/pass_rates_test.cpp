// Tests pass@k and maj@k.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/pass_rates.hpp>

namespace mgpu::datasets {
namespace {

using testing::ElementsAre;

/// Returns the share of the subsets of k of n samples that have at least one of the first `right`
/// samples.
double share_of_subsets(int n, int right, int k) {
  std::int64_t all = 0;
  std::int64_t passed = 0;
  for (std::uint32_t subset = 0; subset < (1U << n); ++subset) {
    if (std::popcount(subset) != k) continue;
    ++all;
    if ((subset & ((1U << right) - 1U)) != 0) ++passed;
  }
  return static_cast<double>(passed) / static_cast<double>(all);
}

TEST(PassAtKTest, IsTheShareOfAllSubsets) {
  for (int n = 1; n <= 10; ++n)
    for (int right = 0; right <= n; ++right)
      for (int k = 1; k <= n; ++k)
        EXPECT_NEAR(pass_at_k(n, right, k), share_of_subsets(n, right, k), 1e-14)
            << n << " " << right << " " << k;
}

TEST(PassAtKTest, ManySamplesDoNotOverflow) {
  EXPECT_DOUBLE_EQ(pass_at_k(65536, 1, 32768), 0.5);
  EXPECT_NEAR(pass_at_k(65536, 655, 1), 655.0 / 65536.0, 1e-12);
}

TEST(PassAtKTest, ValuesOutOfRangeAreErrors) {
  EXPECT_THROW(pass_at_k(4, 2, 5), Error);
  EXPECT_THROW(pass_at_k(4, 2, 0), Error);
  EXPECT_THROW(pass_at_k(4, 5, 1), Error);
}

TEST(SampleCountsTest, ArePowersOfTwoAndAllSamples) {
  EXPECT_THAT(sample_counts(1), ElementsAre(1));
  EXPECT_THAT(sample_counts(2), ElementsAre(1, 2));
  EXPECT_THAT(sample_counts(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(sample_counts(8), ElementsAre(1, 2, 4, 8));
}

TEST(FirstEqualTest, EqualAnswersHaveTheNumberOfTheFirst) {
  const std::vector<std::optional<std::string>> answers = {"1/2", std::nullopt, "7",     "0.5",
                                                           "7",   "8",          "50/100"};
  EXPECT_THAT(first_equal(answers, same_answer), ElementsAre(0, -1, 2, 0, 2, 5, 0));
}

TEST(FirstEqualTest, EqualTextsAreComparedOnce) {
  const std::vector<std::optional<std::string>> answers(1000, "abc");
  int calls = 0;
  first_equal(answers, [&](const std::string&, const std::string&) { return ++calls > 0; });
  EXPECT_EQ(calls, 0);
}

bool majority(const std::vector<std::int32_t>& votes, const std::vector<std::uint8_t>& right) {
  return is_majority_right(votes, right);
}

TEST(MajorityTest, TheMostFrequentAnswerHasToBeRightAndUnique) {
  EXPECT_TRUE(majority({0, 1, 0}, {1, 0, 1}));
  EXPECT_FALSE(majority({0, 1, 0}, {0, 1, 0}));
  EXPECT_TRUE(majority({0}, {1}));
}

TEST(MajorityTest, ATieIsWrong) {
  EXPECT_FALSE(majority({0, 1}, {1, 0}));
  EXPECT_FALSE(majority({0, 1}, {0, 1}));
  EXPECT_FALSE(majority({0, 0, 2, 2, 4}, {1, 1, 0, 0, 0}));
  EXPECT_TRUE(majority({0, 1, 2, 0}, {1, 0, 0, 1}));  // the ties are below the best
}

TEST(MajorityTest, ATieAboveALaterAnswerIsFound) {
  EXPECT_FALSE(majority({0, 0, 2, 3, 3}, {1, 1, 0, 0, 0}));
  EXPECT_TRUE(majority({0, 1, 2, 2, 2}, {0, 0, 1, 1, 1}));
}

TEST(MajorityTest, CompletionsWithoutAnAnswerDoNotVote) {
  EXPECT_TRUE(majority({-1, -1, 2}, {0, 0, 1}));
  EXPECT_FALSE(majority({-1, -1}, {0, 0}));
}

TEST(MajorityTest, EqualsACountOfAllVotes) {
  std::uint32_t state = 7;
  const auto draw = [&](std::uint32_t n) { return (state = state * 1664525U + 1013904223U) % n; };
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int32_t> of_value(4, -1);
    std::vector<std::int32_t> votes;
    std::vector<std::uint8_t> right;
    std::map<std::uint32_t, int> counts;
    const std::uint32_t good = draw(4);
    for (std::int32_t i = 0; i < 9; ++i) {
      const std::uint32_t value = draw(4);
      if (of_value[value] < 0) of_value[value] = i;
      votes.push_back(of_value[value]);
      right.push_back(value == good ? 1 : 0);
      ++counts[value];
    }
    bool wins = counts.contains(good);
    for (const auto& [value, count] : counts)
      wins = wins && (value == good || count < counts[good]);
    EXPECT_EQ(majority(votes, right), wins);
  }
}

}  // namespace
}  // namespace mgpu::datasets
