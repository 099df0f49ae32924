// Tests the comparison of two runs on the same prompts.
#include "jobs/generate/comparison.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "support/made_config.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::report_of_failure;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

template <class T>
store::ReadColumn column(const std::string& name, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {{name, store::column_type<T>(), 1, "", ""}, {bytes.begin(), bytes.end()}};
}

store::ReadTable prompts(const std::vector<double>& pass, const std::vector<double>& reward) {
  const auto rows = std::ssize(pass);
  std::vector<std::int64_t> index;
  std::vector<std::int64_t> checksums;
  for (std::int64_t i = 0; i < rows; ++i) {
    index.push_back(i + 2);
    checksums.push_back(100 + i);
  }
  return {rows,
          0,
          {column("prompt_index", index), column("prompt_crc32c", checksums),
           column("samples", index), column("right", index), column("first_right", reward),
           column("pass_1", pass), column("reward", reward)}};
}

TEST(ComparisonTest, DifferencesArePaired) {
  const Comparison comparison = compare_prompts(prompts({0, 0.5, 0.5, 1}, {1, 2, 3, kNothing}),
                                                prompts({0.5, 1, 0.25, 1}, {2, 3, 4, 5}));
  EXPECT_THAT(comparison.prompts, ElementsAre(2, 3, 4, 5));
  ASSERT_EQ(comparison.metrics.size(), 3U);
  const MetricDifference& pass = comparison.metrics[1];
  EXPECT_EQ(pass.key, "pass_1");
  EXPECT_EQ(comparison.main, 1U);
  EXPECT_THAT(comparison.changes, ElementsAre(0.5, 0.5, -0.25, 0));
  EXPECT_DOUBLE_EQ(pass.before.mean, 0.5);
  EXPECT_DOUBLE_EQ(pass.after.mean, 0.6875);
  EXPECT_DOUBLE_EQ(pass.change.mean, 0.1875);
  EXPECT_NEAR(pass.change.standard_error, 0.1875, 1e-12);  // sqrt(0.421875 / 3 / 4)
  EXPECT_EQ(pass.more, 2);
  EXPECT_EQ(pass.less, 1);
  const MetricDifference& reward = comparison.metrics[2];
  EXPECT_EQ(reward.change.count, 3);  // one prompt had no reward before
  EXPECT_DOUBLE_EQ(reward.after.mean, 3.0);
  EXPECT_EQ(reward.change.standard_error, 0.0);  // all prompts rose by 1
}

TEST(ComparisonTest, TheTextHasEachMetric) {
  const std::string text =
      comparison_text(compare_prompts(prompts({0, 0.5}, {1, 2}), prompts({0.5, 1}, {2, 2})));
  EXPECT_THAT(text, HasSubstr("2 prompts; differences are after - before"));
  EXPECT_THAT(text, HasSubstr("pass_1"));
  EXPECT_THAT(text, HasSubstr("+0.5000    [+0.5000, +0.5000]       2       0\n"));
}

TEST(ComparisonTest, OtherPromptsAreRefused) {
  const store::ReadTable two = prompts({0, 1}, {0, 1});
  const auto refusal = [&](const store::ReadTable& other) {
    const ErrorReport report = report_of_failure([&] { compare_prompts(two, other); });
    EXPECT_EQ(report.code, "E145");
    return report.lines.front();
  };
  EXPECT_THAT(refusal(prompts({0, 1, 1}, {0, 1, 1})), HasSubstr("2 and 3 prompts"));
  store::ReadTable other = two;
  other.columns[1] = column<std::int64_t>("prompt_crc32c", {100, 7});
  EXPECT_THAT(refusal(other), HasSubstr("prompt 3 is the first that differs"));
  other = two;
  other.columns.erase(other.columns.begin() + 4, other.columns.end());
  EXPECT_THAT(refusal(other), HasSubstr("different columns"));
}

}  // namespace
}  // namespace mgpu::jobs
