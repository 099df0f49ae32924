#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/train/adamw.hpp>

namespace mgpu::train {
namespace {

tensor::ParameterArena two_parameters() {
  return {{{"w", {2}, 0.0, 1.0, true}, {"b", {2}, 0.0, 1.0, false}}, Device{}, 1};
}

/// Makes one update with all gradients equal to g. Returns the first weight of w and of b.
std::vector<float> after_one(double g, const AdamwConfig& config, double learning_rate) {
  tensor::ParameterArena arena = two_parameters();
  Adamw optimizer(arena, config);
  arena.gradient(0).fill_(g);
  arena.gradient(1).fill_(g);
  optimizer.step(learning_rate);
  return {arena.parameter(0)[0].item<float>(), arena.parameter(1)[0].item<float>()};
}

// The first step of AdamW equals the learning rate for any gradient. Decay also subtracts the
// weight's share lr * decay, from `w` only.
TEST(AdamwTest, DecayIsForParametersThatDecay) {
  const std::vector<float> after = after_one(3.0, {0.9, 0.99, 0.0, 0.5, 0.0}, 0.1);
  EXPECT_NEAR(after[0], 1.0 - 0.1 * 0.5 - 0.1, 1e-6);
  EXPECT_NEAR(after[1], 1.0 - 0.1, 1e-6);
}

TEST(AdamwTest, ReportsTheNormAndClipsToTheLimit) {
  tensor::ParameterArena arena = two_parameters();
  Adamw optimizer(arena, {0.0, 0.99, 1e-8, 0.0, 1.0});
  arena.gradient(0).fill_(3.0);
  arena.gradient(1).fill_(4.0);

  const UpdateReport report = optimizer.step(0.1);

  const double norm = std::sqrt(2 * 9.0 + 2 * 16.0);
  EXPECT_NEAR(report.grad_norm, norm, 1e-12);
  EXPECT_NEAR(optimizer.first_moment()[0].item<double>(), 3.0 / norm, 1e-6);
}

TEST(AdamwTest, TheScaleOfTheGradientsCancels) {
  tensor::ParameterArena arena = two_parameters();
  Adamw optimizer(arena, {0.0, 0.99, 1e-8, 0.0, 0.0});
  arena.gradient(0).fill_(3.0 * 1024);

  EXPECT_NEAR(optimizer.step(0.1, 1.0 / 1024).grad_norm, std::sqrt(18.0), 1e-12);
  EXPECT_EQ(optimizer.first_moment()[0].item<float>(), 3.0F);
}

TEST(AdamwTest, AnInfiniteGradientChangesNothing) {
  tensor::ParameterArena arena = two_parameters();
  Adamw optimizer(arena, {});
  arena.gradient(0)[0] = std::numeric_limits<float>::infinity();

  const UpdateReport report = optimizer.step(0.1);

  EXPECT_FALSE(report.is_applied);
  EXPECT_FALSE(std::isfinite(report.grad_norm));
  EXPECT_EQ(optimizer.updates(), 0);
  EXPECT_TRUE(arena.parameter(0).equal(at::ones({2})));
  EXPECT_EQ(optimizer.second_moment().abs().sum().item<float>(), 0.0F);
}

// Restores a state like a checkpoint: copies the moments and sets the count of updates.
TEST(AdamwTest, ContinuesFromItsState) {
  tensor::ParameterArena first = two_parameters();
  Adamw a(first, {});
  const auto update = [](Adamw& optimizer, tensor::ParameterArena& arena, double g) {
    arena.gradient(0).fill_(g);
    arena.gradient(1).fill_(-g);
    optimizer.step(1e-2);
  };
  update(a, first, 1.0);
  update(a, first, 0.3);
  tensor::ParameterArena second = two_parameters();
  second.weights().copy_(first.weights());
  Adamw b(second, {});
  b.first_moment().copy_(a.first_moment());
  b.second_moment().copy_(a.second_moment());
  b.set_updates(a.updates());

  update(a, first, 0.7);
  update(b, second, 0.7);

  EXPECT_TRUE(first.weights().equal(second.weights()));
}

}  // namespace
}  // namespace mgpu::train
