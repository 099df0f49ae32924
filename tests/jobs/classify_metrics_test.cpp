// Tests metrics of a classification against tables that were counted by hand.
#include <vector>

#include <gtest/gtest.h>

#include "jobs/classify/metrics.hpp"

namespace mgpu::jobs {
namespace {

/// Returns a table with 16 labeled rows. Of 7 rows of label 1 (hate), 5 are right and 1 has no
/// answer. Of 9 rows of label 0 (normal), 6 are right and 1 has no answer.
Confusion counted() {
  Confusion confusion(2);
  const auto add = [&](int times, int truth, int given) {
    for (int i = 0; i < times; ++i)
      confusion.add(truth, given);
  };
  add(5, 1, 1);
  add(1, 1, 0);
  add(1, 1, -1);
  add(6, 0, 0);
  add(2, 0, 1);
  add(1, 0, -1);
  add(9, -1, 1);  // no true label
  return confusion;
}

TEST(ClassifyMetricsTest, ACountedTable) {
  const Confusion confusion = counted();

  EXPECT_EQ(confusion.rows(), 16);
  EXPECT_EQ(confusion.counts(), (std::vector<std::int64_t>{6, 2, 1, 1, 5, 1}));
  EXPECT_DOUBLE_EQ(accuracy_of(confusion).value, 11.0 / 16.0);
  const LabelScores hate = scores_of(confusion, 1);
  EXPECT_DOUBLE_EQ(hate.precision.value, 5.0 / 7.0);
  EXPECT_DOUBLE_EQ(hate.recall.value, 5.0 / 7.0);
  EXPECT_DOUBLE_EQ(hate.f1.value, 5.0 / 7.0);
  const LabelScores normal = scores_of(confusion, 0);
  EXPECT_DOUBLE_EQ(normal.precision.value, 6.0 / 7.0);
  EXPECT_DOUBLE_EQ(normal.recall.value, 6.0 / 9.0);
  EXPECT_DOUBLE_EQ(normal.f1.value, 12.0 / 16.0);
  EXPECT_DOUBLE_EQ(macro_f1(confusion).value, (5.0 / 7.0 + 12.0 / 16.0) / 2.0);
}

TEST(ClassifyMetricsTest, RowsWithoutAnAnswerAreErrorsOfBothKinds) {
  const ErrorRates rates = error_rates(counted(), 1);

  EXPECT_DOUBLE_EQ(rates.false_positive.value, 3.0 / 9.0);
  EXPECT_DOUBLE_EQ(rates.false_negative.value, 2.0 / 7.0);
  EXPECT_FALSE(rates.is_fair());
}

TEST(ClassifyMetricsTest, FairIsBelowAFifthOnBothSides) {
  Confusion confusion(2);
  for (int i = 0; i < 5; ++i) {
    confusion.add(0, 0);
    confusion.add(1, 1);
  }
  EXPECT_TRUE(error_rates(confusion, 1).is_fair());
  confusion.add(1, 0);  // 1 of 6
  EXPECT_TRUE(error_rates(confusion, 1).is_fair());
  confusion.add(0, 1);
  confusion.add(0, 1);  // 2 of 7
  EXPECT_FALSE(error_rates(confusion, 1).is_fair());
}

TEST(ClassifyMetricsTest, NothingToDivideByIsZeroAndSaysSo) {
  Confusion confusion(2);
  EXPECT_FALSE(accuracy_of(confusion).is_defined);
  confusion.add(0, 0);

  const LabelScores hate = scores_of(confusion, 1);
  EXPECT_FALSE(hate.precision.is_defined);
  EXPECT_FALSE(hate.recall.is_defined);
  EXPECT_FALSE(hate.f1.is_defined);
  EXPECT_EQ(hate.f1.value, 0.0);
  EXPECT_FALSE(error_rates(confusion, 1).false_negative.is_defined);
  EXPECT_TRUE(error_rates(confusion, 1).false_positive.is_defined);
  EXPECT_FALSE(macro_f1(confusion).is_defined);
  EXPECT_DOUBLE_EQ(macro_f1(confusion).value, 0.5);
}

TEST(ClassifyMetricsTest, CalibrationErrorIsTheMeanGapOfItsBins) {
  // Two rows have confidence 0.95, and one of them is right. Two rows have 0.55, and both are
  // right.
  const Calibration calibration =
      calibrate(std::vector{0.95, 0.95, 0.55, 0.55}, std::vector<std::uint8_t>{1, 0, 1, 1});

  ASSERT_EQ(calibration.bins.size(), 10U);
  EXPECT_EQ(calibration.bins[9].rows, 2);
  EXPECT_DOUBLE_EQ(calibration.bins[9].accuracy, 0.5);
  EXPECT_DOUBLE_EQ(calibration.bins[5].confidence, 0.55);
  EXPECT_NEAR(calibration.error, 0.5 * 0.45 + 0.5 * 0.45, 1e-12);
  EXPECT_EQ(calibrate(std::vector{1.0}, std::vector<std::uint8_t>{1}).bins[9].rows, 1);
}

TEST(ClassifyMetricsTest, AreaUnderTheRocCurveCountsPairs) {
  // Of the 6 pairs of a positive and a negative row, 3 are in order and 1 is tied.
  const Roc roc =
      roc_of(std::vector{0.9, 0.8, 0.4, 0.8, 0.1}, std::vector<std::uint8_t>{1, 1, 0, 0, 1});

  EXPECT_NEAR(roc.area.value, 3.5 / 6.0, 1e-12);
  EXPECT_EQ(roc.points.size(), 5U);
  EXPECT_EQ(roc.points.back().true_positive, 1.0);
  EXPECT_FALSE(roc_of(std::vector{0.5}, std::vector<std::uint8_t>{1}).area.is_defined);
}

TEST(ClassifyMetricsTest, WilsonIntervals) {
  const auto [low, high] = wilson_interval(8, 10);
  EXPECT_NEAR(low, 0.4902, 1e-4);
  EXPECT_NEAR(high, 0.9433, 1e-4);
  EXPECT_EQ(wilson_interval(0, 0), (std::pair{0.0, 1.0}));
  EXPECT_EQ(wilson_interval(0, 5).first, 0.0);
}

}  // namespace
}  // namespace mgpu::jobs
