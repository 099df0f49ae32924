#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/decoder_grads.hpp>

#include "decoder_reference.hpp"
#include "random_values.hpp"

namespace mgpu::kernels {
namespace {

/// Returns (f(x + h) - f(x - h)) / (2 h), computed in double.
template <class Function>
double slope(Function f, double x) {
  constexpr double kStep = 1e-6;
  return (f(x + kStep) - f(x - kStep)) / (2.0 * kStep);
}

/// Returns sum_i grad[i] * norm(x)[i], where x[place] is replaced by `value`.
double weighted_norm(std::vector<double> x, const std::vector<float>& weight, const float* grad,
                     std::size_t place, double value) {
  x[place] = value;
  double squares = 0.0;
  for (const double each : x)
    squares += each * each;
  const double root = std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += grad[i] * x[i] / root * weight[i];
  return sum;
}

TEST(RmsNormGradTest, IsThatOfFiniteDifferences) {
  constexpr std::size_t kRows = 3;
  for (const std::size_t width : {1U, 16U, 37U}) {
    const std::vector<float> x = normals(kRows * width, 1);
    const std::vector<float> weight = normals(width, 2);
    const std::vector<float> grad = normals(kRows * width, 3);
    std::vector<float> grad_x(x.size());
    std::vector<float> grad_weight(width, 0.5F);  // is incremented
    cpu::rms_norm_grad({x.data(), weight.data(), grad.data(), grad_x.data(), grad_weight.data(),
                        kRows, width, 1e-5F});

    std::vector<double> expected(width, 0.5);
    for (std::size_t n = 0; n < kRows; ++n) {
      const std::vector<double> row(x.data() + n * width, x.data() + (n + 1) * width);
      const float* grads = grad.data() + n * width;
      for (std::size_t i = 0; i < width; ++i) {
        const auto f = [&](double value) { return weighted_norm(row, weight, grads, i, value); };
        EXPECT_NEAR(grad_x[n * width + i], slope(f, row[i]), 1e-5) << width << ' ' << n << ' ' << i;
        std::vector<float> one(width, 0.0F);
        one[i] = 1.0F;
        expected[i] += weighted_norm(row, one, grads, i, row[i]);
      }
    }
    for (std::size_t i = 0; i < width; ++i)
      EXPECT_NEAR(grad_weight[i], expected[i], 1e-5) << width << ' ' << i;
  }
}

TEST(GatedActivationGradTest, IsThatOfFiniteDifferences) {
  constexpr std::size_t kCount = 37;
  const std::vector<float> gate = normals(kCount, 1, 3.0F);
  const std::vector<float> up = normals(kCount, 2);
  const std::vector<float> grad = normals(kCount, 3);
  for (const ActivationKind kind :
       {ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh}) {
    std::vector<float> gates(kCount);
    std::vector<float> alone(kCount);
    std::vector<float> ups(kCount);
    cpu::gated_activation_grad(
        {gate.data(), up.data(), grad.data(), gates.data(), ups.data(), kCount, kind});
    cpu::gated_activation_grad(
        {gate.data(), nullptr, grad.data(), alone.data(), nullptr, kCount, kind});

    GatedActivationArgs args{};
    args.kind = kind;
    const auto f = [&](double x) { return reference::activation(x, args); };
    for (std::size_t i = 0; i < kCount; ++i) {
      const double expected = grad[i] * slope(f, gate[i]);
      EXPECT_NEAR(alone[i], expected, 1e-5) << i;
      EXPECT_NEAR(gates[i], expected * up[i], 1e-5) << i;
      EXPECT_NEAR(ups[i], grad[i] * f(gate[i]), 1e-5) << i;
    }
  }
}

TEST(GatedActivationGradTest, FarOutItIsFiniteAndNanStaysNan) {
  const std::vector<float> gate{-1000.0F, 1000.0F, std::nanf("")};
  const std::vector<float> grad{1.0F, 1.0F, 1.0F};
  for (const ActivationKind kind :
       {ActivationKind::silu, ActivationKind::gelu, ActivationKind::gelu_tanh}) {
    std::vector<float> out(3);
    cpu::gated_activation_grad({gate.data(), nullptr, grad.data(), out.data(), nullptr, 3, kind});

    EXPECT_NEAR(out[0], 0.0F, 1e-6F);
    EXPECT_NEAR(out[1], 1.0F, 1e-6F);
    EXPECT_TRUE(std::isnan(out[2]));
  }
  EXPECT_THROW(cpu::gated_activation_grad({gate.data(), nullptr, grad.data(), nullptr, nullptr, 0,
                                           ActivationKind::clamped}),
               ShapeError);
}

TEST(LogitsGradTest, IsProbabilityLessTheTarget) {
  constexpr std::size_t kRows = 4;
  constexpr std::size_t kBlock = 37;
  constexpr std::int64_t kFirst = 100;
  const std::vector<std::int64_t> targets{kFirst, kFirst + 36, kFirst + 37, kFirst - 1};
  const std::vector<float> logits = normals(kRows * kBlock, 1);
  const std::vector<float> log_sums{4.0F, 5.0F, 6.0F, 7.0F};
  std::vector<float> grads = logits;
  cpu::logits_grad({grads.data(), log_sums.data(), targets.data(), kFirst, kRows, kBlock, 0.25F});

  for (std::size_t n = 0; n < kRows; ++n) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      const bool is_target = targets[n] == kFirst + static_cast<std::int64_t>(i);
      const double p = std::exp(static_cast<double>(logits[n * kBlock + i]) - log_sums[n]);
      EXPECT_NEAR(grads[n * kBlock + i], 0.25 * (p - (is_target ? 1.0 : 0.0)), 1e-6);
    }
  }
}

TEST(LogitsGradTest, NanReachesItsGradient) {
  std::vector<float> logits{0.0F, std::nanf("")};
  const float log_sum = 1.0F;
  const std::int64_t target = 5;
  cpu::logits_grad({logits.data(), &log_sum, &target, 0, 1, 2, 1.0F});

  EXPECT_TRUE(std::isfinite(logits[0]));
  EXPECT_TRUE(std::isnan(logits[1]));
}

}  // namespace
}  // namespace mgpu::kernels
