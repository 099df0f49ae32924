#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/kernels/cross_entropy.hpp>

#include "on_device.hpp"
#include "random_values.hpp"
#include "reference.hpp"

namespace mgpu::kernels {
namespace {

struct Size {
  std::size_t predictions;
  std::size_t classes;
};

class ActionGpuTest : public GpuTest, public testing::WithParamInterface<Size> {};

TEST_P(ActionGpuTest, CrossEntropyIsTheReference) {
  const auto [predictions, classes] = GetParam();
  const std::vector<float> logits = normals(predictions * classes, 3, 4.0F);
  const std::vector<std::int64_t> aims = targets(predictions, classes, kIgnoreTarget);
  std::vector<float> grad(logits.size(), 9.0F);
  CrossEntropySums expected;
  const OnDevice d_logits(logits);
  const OnDevice d_aims(aims);
  const OnDevice d_grad(grad);
  const OnDevice d_sums(std::vector<CrossEntropySums>(predictions / kCrossEntropyBlock + 2));
  reference::cross_entropy({logits.data(), aims.data(), grad.data(), nullptr, &expected,
                            predictions, classes, 0.1F, 0.5F});

  cuda::cross_entropy({d_logits.get(), d_aims.get(), d_grad.get(), d_sums.get() + 1, d_sums.get(),
                       predictions, classes, 0.1F, 0.5F},
                      nullptr);

  const CrossEntropySums sums = d_sums.host()[0];
  EXPECT_NEAR(sums.loss, expected.loss, 1e-6 * (1.0 + expected.loss));
  EXPECT_EQ(sums.count, expected.count);
  EXPECT_EQ(sums.correct, expected.correct);
  const std::vector<float> actual = d_grad.host();
  for (std::size_t i = 0; i < grad.size(); ++i)
    ASSERT_NEAR(actual[i], grad[i], 1e-6F) << i;
}

TEST_P(ActionGpuTest, BadTargetsGiveNan) {
  const auto [predictions, classes] = GetParam();
  if (predictions < 5) return;
  const OnDevice d_logits(normals(predictions * classes, 3));
  const OnDevice d_aims(targets(predictions, classes, 99));
  const OnDevice d_grad(std::vector<float>(predictions * classes));
  const OnDevice d_sums(std::vector<CrossEntropySums>(predictions / kCrossEntropyBlock + 2));
  cuda::cross_entropy({d_logits.get(), d_aims.get(), d_grad.get(), d_sums.get() + 1, d_sums.get(),
                       predictions, classes, 0.0F, 1.0F},
                      nullptr);

  EXPECT_TRUE(std::isnan(d_sums.host()[0].loss));
  EXPECT_TRUE(std::isnan(d_grad.host()[4 * classes]));
  EXPECT_FALSE(std::isnan(d_grad.host()[0]));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ActionGpuTest,
                         testing::Values(Size{1, 1}, Size{31, 5}, Size{33, 5}, Size{257, 33},
                                         Size{15424, 5}));

}  // namespace
}  // namespace mgpu::kernels
