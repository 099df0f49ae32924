#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/kernels/accumulate.hpp>
#include <mgpu/kernels/adamw_step.hpp>
#include <mgpu/kernels/squared_norm.hpp>

#include "random_values.hpp"
#include "reference.hpp"

namespace mgpu::kernels {
namespace {

// Computed by hand: g = 0.5 * 4 = 2; m = 0.1 * 2 = 0.2, v = 0.01 * 4 = 0.04. Divided by their
// corrections they are 2 and 4. The step is 0.1 * 2 / 2 = 0.1; decay subtracts 0.1 * 0.5 of the
// weight 1.
TEST(AdamwStepCpuTest, FirstStepByHand) {
  float w = 1.0F;
  const float g = 4.0F;
  float m = 0.0F;
  float v = 0.0F;
  cpu::adamw_step({&w, &g, &m, &v, 1, 0.1F, 0.9F, 0.99F, 0.0F, 0.5F, 0.5F, 0.1F, 0.01F});

  // 1 - 0.99F equals 0.01 only to a relative 1e-6.
  EXPECT_NEAR(w, 0.95F - 0.1F, 1e-6F);
  EXPECT_NEAR(m, 0.2F, 1e-6F);
  EXPECT_NEAR(v, 0.04F, 1e-6F);
}

class AdamwCpuTest : public testing::TestWithParam<std::size_t> {};

TEST_P(AdamwCpuTest, IsTheReference) {
  const std::size_t count = GetParam();
  const std::vector<float> g = normals(count, 1);
  std::vector<float> w = normals(count, 2);
  std::vector<float> m = normals(count, 3, 0.1F);
  std::vector<float> v(count, 0.04F);
  std::vector<float> w_expected = w;
  std::vector<float> m_expected = m;
  std::vector<float> v_expected = v;
  AdamwArgs args{w.data(), g.data(), m.data(), v.data(), count, 1e-2F,  0.9F,
                 0.99F,    1e-8F,    0.1F,     0.7F,     0.19F, 0.0199F};
  cpu::adamw_step(args);
  args.weights = w_expected.data();
  args.m = m_expected.data();
  args.v = v_expected.data();
  reference::adamw_step(args);

  for (std::size_t i = 0; i < count; ++i) {
    // About ten float roundings of values around 1.
    EXPECT_NEAR(w[i], w_expected[i], 1e-6F * (1.0F + std::fabs(w_expected[i])));
    EXPECT_NEAR(m[i], m_expected[i], 1e-6F);
    EXPECT_NEAR(v[i], v_expected[i], 1e-6F * (1.0F + v_expected[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, AdamwCpuTest, testing::Values(0, 1, 15, 17, 1000));

double squared_norm(const std::vector<float>& x) {
  std::vector<double> blocks(x.size() / kNormBlock + 1);
  double out = -1.0;
  cpu::squared_norm({x.data(), x.size(), blocks.data(), &out});
  return out;
}

TEST(SquaredNormCpuTest, ByHandAndEmpty) {
  EXPECT_EQ(squared_norm({3.0F, 4.0F}), 25.0);
  EXPECT_EQ(squared_norm({}), 0.0);
}

TEST(SquaredNormCpuTest, IsTheSumAtAllSizesAroundABlock) {
  for (const std::size_t count : {1U, 7U, 9U, 4095U, 4096U, 4097U, 20000U}) {
    const std::vector<float> x = normals(count, 4);
    double expected = 0.0;
    for (const float value : x)
      expected += static_cast<double>(value) * value;
    EXPECT_NEAR(squared_norm(x), expected, 1e-12 * expected) << count;
  }
}

TEST(SquaredNormCpuTest, OnlyInfinityAndNanMakeItNotFinite) {
  EXPECT_TRUE(std::isfinite(squared_norm({std::numeric_limits<float>::max(), 1.0F})));
  EXPECT_FALSE(std::isfinite(squared_norm({1.0F, std::numeric_limits<float>::infinity()})));
  EXPECT_TRUE(std::isnan(squared_norm({1.0F, std::nanf("")})));
}

TEST(AccumulateCpuTest, AddsElementByElement) {
  std::vector<float> sum{1.0F, 2.0F, 3.0F};
  const std::vector<float> x{10.0F, 20.0F, 30.0F};
  cpu::accumulate({sum.data(), x.data(), sum.size()});
  EXPECT_EQ(sum, (std::vector<float>{11.0F, 22.0F, 33.0F}));
}

}  // namespace
}  // namespace mgpu::kernels
