#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/sample_action.hpp>

#include "random_values.hpp"
#include "reference.hpp"

namespace mgpu::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Loss {
  CrossEntropySums sums;
  std::vector<float> grad;
};

template <class Kernel>
Loss loss_of(Kernel kernel, const std::vector<float>& logits, const std::vector<std::int64_t>& aims,
             float smoothing) {
  Loss loss{{}, std::vector<float>(logits.size(), 99.0F)};
  std::vector<CrossEntropySums> blocks(aims.size() / kCrossEntropyBlock + 1);
  kernel(CrossEntropyArgs{logits.data(), aims.data(), loss.grad.data(), blocks.data(), &loss.sums,
                          aims.size(), aims.empty() ? 0 : logits.size() / aims.size(), smoothing,
                          0.5F});
  return loss;
}

TEST(CrossEntropyCpuTest, TwoEqualLogitsByHand) {
  const Loss loss = loss_of(cpu::cross_entropy, {7, 7}, {1}, 0.0F);
  EXPECT_DOUBLE_EQ(loss.sums.loss, std::log(2.0));
  EXPECT_EQ(loss.sums.count, 1);
  EXPECT_EQ(loss.sums.correct, 0);  // on a tie the first counts
  EXPECT_FLOAT_EQ(loss.grad[0], 0.25F);
  EXPECT_FLOAT_EQ(loss.grad[1], -0.25F);
}

TEST(CrossEntropyCpuTest, LargeLogitsDoNotOverflow) {
  const Loss loss = loss_of(cpu::cross_entropy, {1000, 0}, {0}, 0.0F);
  EXPECT_EQ(loss.sums.loss, 0.0);
  EXPECT_EQ(loss.sums.correct, 1);
}

TEST(CrossEntropyCpuTest, IgnoredTargetsCountForNothing) {
  const Loss loss = loss_of(cpu::cross_entropy, {1, 2, 3, 4}, {kIgnoreTarget, kIgnoreTarget}, 0.1F);
  EXPECT_EQ(loss.sums.loss, 0.0);
  EXPECT_EQ(loss.sums.count, 0);
  EXPECT_EQ(loss.grad, std::vector<float>(4, 0.0F));
}

TEST(CrossEntropyCpuTest, ATargetOutOfRangeAndANanLogitGiveNan) {
  const Loss loss = loss_of(cpu::cross_entropy, {1, 2, 1, 2}, {0, 2}, 0.0F);
  EXPECT_TRUE(std::isnan(loss.sums.loss));
  EXPECT_FALSE(std::isnan(loss.grad[0]));
  EXPECT_TRUE(std::isnan(loss.grad[2]));
  EXPECT_TRUE(std::isnan(loss_of(cpu::cross_entropy, {1, std::nanf("")}, {0}, 0.0F).sums.loss));
}

TEST(CrossEntropyCpuTest, NoClassesAreRefusedAndNoPredictionsAreFine) {
  EXPECT_EQ(loss_of(cpu::cross_entropy, {}, {}, 0.0F).sums.count, 0);
  EXPECT_THROW(loss_of(cpu::cross_entropy, {}, {0}, 0.0F), ShapeError);
}

struct Size {
  std::size_t predictions;
  std::size_t classes;
};

class CrossEntropyCpuTest : public testing::TestWithParam<Size> {};

TEST_P(CrossEntropyCpuTest, IsTheReference) {
  const auto [predictions, classes] = GetParam();
  const std::vector<float> logits = normals(predictions * classes, 3, 4.0F);
  const std::vector<std::int64_t> aims = targets(predictions, classes, kIgnoreTarget);
  for (const float smoothing : {0.0F, 0.1F}) {
    const Loss expected = loss_of(reference::cross_entropy, logits, aims, smoothing);
    const Loss actual = loss_of(cpu::cross_entropy, logits, aims, smoothing);

    // The kernel rounds each term of the sum of exponentials to float, by at most half an ulp.
    EXPECT_NEAR(actual.sums.loss, expected.sums.loss, 1e-6 * (1.0 + expected.sums.loss));
    EXPECT_EQ(actual.sums.count, expected.sums.count);
    EXPECT_EQ(actual.sums.correct, expected.sums.correct);
    for (std::size_t i = 0; i < logits.size(); ++i)
      EXPECT_NEAR(actual.grad[i], expected.grad[i], 1e-6F) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CrossEntropyCpuTest,
                         testing::Values(Size{1, 1}, Size{3, 5}, Size{255, 5}, Size{256, 2},
                                         Size{257, 33}, Size{2000, 5}));

std::vector<std::int64_t> draw(const std::vector<float>& logits,
                               const std::vector<float>& uniforms) {
  std::vector<std::int64_t> actions(uniforms.size(), 77);
  cpu::sample_action({logits.data(), uniforms.data(), actions.data(), uniforms.size(),
                      logits.size() / uniforms.size()});
  return actions;
}

TEST(SampleActionCpuTest, EqualLogitsShareTheUniformsEvenly) {
  EXPECT_EQ(draw({2, 2, 2, 2, 2, 2, 2, 2}, {0.0F, 0.49F}), (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(draw({2, 2, 2, 2, 2, 2, 2, 2}, {0.25F, 0.99999994F}),
            (std::vector<std::int64_t>{1, 3}));
}

TEST(SampleActionCpuTest, AnImpossibleActionIsNeverDrawn) {
  EXPECT_EQ(draw({-kInfinity, 1, -kInfinity}, {0.0F})[0], 1);
  EXPECT_EQ(draw({-kInfinity, 1, -kInfinity}, {0.99999994F})[0], 1);
}

TEST(SampleActionCpuTest, WithoutADistributionThereIsNoAction) {
  EXPECT_EQ(draw({1, std::nanf("")}, {0.5F})[0], kNoAction);
  EXPECT_EQ(draw({1, kInfinity}, {0.5F})[0], kNoAction);
  EXPECT_EQ(draw({-kInfinity, -kInfinity}, {0.5F})[0], kNoAction);
}

TEST(SampleActionCpuTest, IsTheReferenceAndFollowsTheProbabilities) {
  constexpr std::size_t kDraws = 20000;
  std::vector<float> logits;
  std::vector<float> uniforms(kDraws);
  for (std::size_t n = 0; n < kDraws; ++n) {
    logits.insert(logits.end(), {0.0F, std::log(3.0F), -1.0F});
    uniforms[n] = (static_cast<float>(n) + 0.5F) / kDraws;
  }
  std::vector<std::int64_t> expected(kDraws);
  reference::sample_action({logits.data(), uniforms.data(), expected.data(), kDraws, 3});

  const std::vector<std::int64_t> actual = draw(logits, uniforms);

  EXPECT_EQ(actual, expected);
  const auto second = static_cast<double>(std::count(actual.begin(), actual.end(), 1));
  EXPECT_NEAR(second / kDraws, 3.0 / (4.0 + std::exp(-1.0)), 1.0 / kDraws + 1e-6);
}

}  // namespace
}  // namespace mgpu::kernels
