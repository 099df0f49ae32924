#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <mgpu/base/half_float.hpp>

namespace mgpu {
namespace {

TEST(HalfFloatTest, EveryHalfSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    if (!std::isnan(from_f16(half))) {
      EXPECT_EQ(to_f16(from_f16(half)), half);
    } else {
      EXPECT_TRUE(std::isnan(from_f16(to_f16(from_f16(half)))));
    }
    if (!std::isnan(from_bf16(half))) {
      EXPECT_EQ(to_bf16(from_bf16(half)), half);
    } else {
      EXPECT_TRUE(std::isnan(from_bf16(to_bf16(from_bf16(half)))));
    }
  }
}

TEST(HalfFloatTest, KnownHalves) {
  EXPECT_EQ(from_f16(0x3C00), 1.0F);
  EXPECT_EQ(from_f16(0xC000), -2.0F);
  EXPECT_EQ(from_f16(0x7BFF), 65504.0F);  // largest
  EXPECT_EQ(from_f16(0x0001), 0x1p-24F);  // smallest
  EXPECT_EQ(from_f16(0x0400), 0x1p-14F);  // smallest normal
  EXPECT_EQ(from_f16(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(from_bf16(0x3F80), 1.0F);
  EXPECT_EQ(from_bf16(0xC040), -3.0F);
}

TEST(HalfFloatTest, TiesGoToTheEvenNeighbor) {
  EXPECT_EQ(to_f16(1.0F + 0x1p-11F), 0x3C00);
  EXPECT_EQ(to_f16(1.0F + 0x3p-11F), 0x3C02);
  EXPECT_EQ(to_f16(std::nextafter(1.0F + 0x1p-11F, 2.0F)), 0x3C01);
  EXPECT_EQ(to_f16(0x1p-25F), 0x0000);
  EXPECT_EQ(to_f16(0x3p-25F), 0x0002);
  EXPECT_EQ(to_bf16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(to_bf16(1.0F + 0x3p-8F), 0x3F82);
}

TEST(HalfFloatTest, TooLargeBecomesInfinity) {
  EXPECT_EQ(to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(to_f16(-1e10F), 0xFC00);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7F80);
}

}  // namespace
}  // namespace mgpu
