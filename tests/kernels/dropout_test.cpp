#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/dropout.hpp>

#include "random_values.hpp"
#include "reference.hpp"

namespace mgpu::kernels {
namespace {

constexpr DropoutSite kSite{11, 6, 6554};  // 6554 / 65536: a tenth

TEST(DropoutThresholdTest, IsTheProbabilityIn65536ths) {
  EXPECT_EQ(dropout_threshold(0.0), 0U);
  EXPECT_EQ(dropout_threshold(0.5), 32768U);
  EXPECT_EQ(dropout_threshold(0.1), 6554U);
  EXPECT_THROW(dropout_threshold(1.0), Error);
  EXPECT_THROW(dropout_threshold(-0.1), Error);
  EXPECT_THROW(dropout_threshold(std::nan("")), Error);
}

struct Shape {
  std::size_t rows;
  std::size_t lines;
  std::size_t elements;
};

class DropoutCpuTest : public testing::TestWithParam<Shape> {};

TEST_P(DropoutCpuTest, IsTheReference) {
  const auto [rows, lines, elements] = GetParam();
  const std::vector<float> x = normals(rows * lines * elements, 1);
  const std::vector<float> residual = normals(x.size(), 2);
  std::vector<std::int64_t> samples(rows);
  for (std::size_t b = 0; b < rows; ++b)
    samples[b] = static_cast<std::int64_t>(b) + (std::int64_t{1} << 33);
  for (const float* added : {static_cast<const float*>(nullptr), residual.data()}) {
    std::vector<float> expected(x.size());
    std::vector<float> actual(x.size());
    DropoutArgs args{x.data(), added, samples.data(), expected.data(), rows, lines,
                     elements, 1024,  kSite};
    reference::dropout(args);
    args.out = actual.data();
    cpu::dropout(args);

    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_FLOAT_EQ(actual[i], expected[i]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DropoutCpuTest,
                         testing::Values(Shape{1, 1, 1}, Shape{2, 3, 15}, Shape{2, 2, 33},
                                         Shape{1, 2, 128}, Shape{3, 1, 129}, Shape{1, 5, 1000},
                                         Shape{2, 0, 7}, Shape{0, 1, 7}));

// The kept share of n elements has standard error sqrt(p (1 - p) / n).
TEST(DropoutCpuTest, KeepsTheShareAndTheMean) {
  constexpr std::size_t kCount = 1 << 20;
  const std::vector<float> x(kCount, 1.0F);
  const std::int64_t sample = 3;
  std::vector<float> out(kCount);
  cpu::dropout({x.data(), nullptr, &sample, out.data(), 1, 1, kCount, 0, kSite});

  double kept = 0.0;
  double sum = 0.0;
  double neighbors = 0.0;  // pairs of adjacent elements that are both kept
  for (std::size_t i = 0; i < kCount; ++i) {
    kept += out[i] != 0.0F ? 1.0 : 0.0;
    sum += out[i];
    neighbors += i > 0 && out[i] != 0.0F && out[i - 1] != 0.0F ? 1.0 : 0.0;
  }
  const double share = 1.0 - 6554.0 / 65536.0;
  const double error = std::sqrt(share * (1.0 - share) / kCount);
  EXPECT_NEAR(kept / kCount, share, 4.0 * error);
  EXPECT_NEAR(sum / kCount, 1.0, 4.0 * error / share);
  // Pairs are 0/1 with mean share^2. Overlapping pairs are correlated; twice the error covers that.
  EXPECT_NEAR(neighbors / kCount, share * share, 8.0 * error);
}

TEST(DropoutCpuTest, AMaskBelongsToTheSampleNotToItsPlaceInTheBatch) {
  constexpr std::size_t kElements = 300;
  const std::vector<float> x(3 * kElements, 1.0F);
  const std::vector<std::int64_t> samples{7, 8, 9};
  const std::vector<std::int64_t> reversed{9, 8, 7};
  std::vector<float> a(x.size());
  std::vector<float> b(x.size());
  cpu::dropout({x.data(), nullptr, samples.data(), a.data(), 3, 1, kElements, 0, kSite});
  cpu::dropout({x.data(), nullptr, reversed.data(), b.data(), 3, 1, kElements, 0, kSite});

  EXPECT_TRUE(std::equal(a.begin(), a.begin() + kElements, b.begin() + 2 * kElements));
  EXPECT_TRUE(std::equal(a.begin() + 2 * kElements, a.end(), b.begin()));
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + kElements, b.begin()));
}

TEST(DropoutCpuTest, SitesAndSeedsHaveTheirOwnMasks) {
  const std::vector<float> x(300, 1.0F);
  const std::int64_t sample = 7;
  const auto mask = [&](const DropoutSite& site) {
    std::vector<float> out(x.size());
    cpu::dropout({x.data(), nullptr, &sample, out.data(), 1, 1, x.size(), 0, site});
    return out;
  };
  EXPECT_NE(mask(kSite), mask({11, 7, 6554}));
  EXPECT_NE(mask(kSite), mask({12, 6, 6554}));
}

TEST(DropoutCpuTest, WhatIsDroppedIsZeroEvenIfItWasNan) {
  const std::vector<float> x(1000, std::nanf(""));
  const std::int64_t sample = 7;
  std::vector<float> out(x.size());
  cpu::dropout({x.data(), nullptr, &sample, out.data(), 1, 1, x.size(), 0, kSite});

  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(std::isnan(out[i]), reference::is_kept(kSite, 7, i)) << i;
}

TEST(DropoutCpuTest, ABrokenPitchIsRefused) {
  EXPECT_THROW(cpu::dropout({nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 100, kSite}), ShapeError);
}

}  // namespace
}  // namespace mgpu::kernels
