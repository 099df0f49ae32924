#include <gtest/gtest.h>

#include <mgpu/train/loss_scaler.hpp>
#include <mgpu/train/lr_schedule.hpp>

namespace mgpu::train {
namespace {

TEST(LrScheduleTest, WarmsUpFromTheFirstStep) {
  const LrSchedule schedule{LrShape::cosine, 1.0, 4, 100};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.25);
  EXPECT_DOUBLE_EQ(schedule.at(3), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(4), 1.0);
}

TEST(LrScheduleTest, GoesToZeroInItsShape) {
  const LrSchedule linear{LrShape::linear, 2.0, 0, 100};
  const LrSchedule cosine{LrShape::cosine, 2.0, 0, 100};
  const LrSchedule constant{LrShape::constant, 2.0, 0, 100};
  EXPECT_DOUBLE_EQ(linear.at(25), 1.5);
  EXPECT_DOUBLE_EQ(linear.at(100), 0.0);
  EXPECT_NEAR(cosine.at(50), 1.0, 1e-15);
  EXPECT_NEAR(cosine.at(1000), 0.0, 1e-15);
  EXPECT_DOUBLE_EQ(constant.at(1000), 2.0);
}

TEST(LrScheduleTest, WarmUpMayTakeTheWholeTraining) {
  const LrSchedule schedule{LrShape::linear, 1.0, 10, 10};
  EXPECT_DOUBLE_EQ(schedule.at(9), 1.0);
  EXPECT_DOUBLE_EQ(schedule.at(10), 1.0);
}

TEST(LossScalerTest, HalvesOnOverflowAndDoublesAfterTwoThousandGoodUpdates) {
  LossScaler scaler(true);
  EXPECT_EQ(scaler.scale(), 65536.0);
  scaler.update(false);
  EXPECT_EQ(scaler.scale(), 32768.0);
  for (int i = 0; i < 1999; ++i)
    scaler.update(true);
  EXPECT_EQ(scaler.scale(), 32768.0);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 65536.0);
}

TEST(LossScalerTest, NeverBelowOneAndContinuesFromItsState) {
  LossScaler scaler(true);
  for (int i = 0; i < 40; ++i)
    scaler.update(false);
  EXPECT_EQ(scaler.scale(), 1.0);
  LossScaler other(true);
  other.restore(scaler.state());
  EXPECT_EQ(other.scale(), 1.0);
}

TEST(LossScalerTest, StaysOneWhereItIsNotNeeded) {
  LossScaler scaler(false);
  scaler.update(false);
  scaler.update(true);
  EXPECT_EQ(scaler.scale(), 1.0);
}

}  // namespace
}  // namespace mgpu::train
