// Tests means with standard errors and intervals.
#include <array>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/estimate.hpp>

namespace mgpu {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

TEST(EstimateTest, QuantilesAreThoseOfTables) {
  // scipy.stats.t.ppf(0.975, degrees)
  EXPECT_NEAR(t_quantile(1), 12.706204736432095, 1e-8);
  EXPECT_NEAR(t_quantile(2), 4.302652729911275, 1e-8);
  EXPECT_NEAR(t_quantile(3), 3.182446305284263, 1e-8);
  EXPECT_NEAR(t_quantile(4), 2.7764451051977987, 1e-8);
  EXPECT_NEAR(t_quantile(10), 2.2281388519649385, 1e-8);
  EXPECT_NEAR(t_quantile(29), 2.045229642132703, 1e-8);
  EXPECT_NEAR(t_quantile(100), 1.9839715184496334, 1e-8);
  EXPECT_NEAR(t_quantile(1000), 1.9623390808264078, 1e-8);
  EXPECT_NEAR(t_quantile(1'000'000'000), 1.959963984540054, 1e-8);
  EXPECT_THROW(t_quantile(0), Error);
}

TEST(EstimateTest, BothFormulasMeetAtTwoHundredDegrees) {
  EXPECT_GT(t_quantile(199), t_quantile(200));
  EXPECT_NEAR(t_quantile(199), t_quantile(200), 7e-5);
  EXPECT_NEAR(2.0 * t_quantile(200), t_quantile(199) + t_quantile(201), 1e-6);
}

TEST(EstimateTest, TheErrorIsThatOfTheSampleDeviation) {
  const Estimate estimate = estimate_mean(std::array{1.0, 2.0, 4.0, kNoValue, 5.0});
  EXPECT_EQ(estimate.count, 4);
  EXPECT_DOUBLE_EQ(estimate.mean, 3.0);
  EXPECT_DOUBLE_EQ(estimate.standard_error, std::sqrt(10.0 / 3.0 / 4.0));
  EXPECT_NEAR(estimate.high - estimate.mean, 3.182446305284263 * estimate.standard_error, 1e-8);
  EXPECT_DOUBLE_EQ(estimate.mean - estimate.low, estimate.high - estimate.mean);
}

TEST(EstimateTest, FewerThanTwoValuesHaveNoInterval) {
  const Estimate one = estimate_mean(std::array{kNoValue, 2.5});
  EXPECT_EQ(one.mean, 2.5);
  EXPECT_TRUE(std::isnan(one.standard_error));
  EXPECT_TRUE(std::isnan(one.low));
  EXPECT_FALSE(one.has_interval());
  const Estimate none = estimate_mean(std::array{kNoValue});
  EXPECT_EQ(none.count, 0);
  EXPECT_TRUE(std::isnan(none.mean));
}

TEST(EstimateTest, EqualValuesHaveNoError) {
  const Estimate estimate = estimate_mean(std::array{0.25, 0.25, 0.25});
  EXPECT_EQ(estimate.standard_error, 0.0);
  EXPECT_EQ(estimate.low, 0.25);
}

}  // namespace
}  // namespace mgpu
