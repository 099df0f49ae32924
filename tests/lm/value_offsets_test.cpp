// Tests the offsets of guides: against long double, their limits, and on two problems whose best
// policies are known exactly.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/value_guide.hpp>

#include "lm/decode/guide_offsets.hpp"
#include "toy_language.hpp"

namespace mgpu::lm {
namespace {

using Outputs = std::vector<double>;

constexpr ValueHead kBernoulli{};
constexpr ValueHead kExpectation{.kind = ValueKind::expectation};
constexpr ValueHead kHistogram{
    .kind = ValueKind::histogram, .outputs = 11, .lowest = -1.0, .highest = 3.0};

/// Returns the distribution that the outputs stand for, as pairs of a probability and a return.
std::vector<std::pair<long double, long double>> distribution(const ValueHead& head,
                                                              const Outputs& outputs) {
  if (head.kind == ValueKind::bernoulli) {
    const long double z = outputs[0];
    return {{1.0L / (1.0L + std::exp(z)), 0.0L}, {1.0L / (1.0L + std::exp(-z)), 1.0L}};
  }
  long double mass = 0.0L;
  for (const double output : outputs)
    mass += std::exp(static_cast<long double>(output));
  std::vector<std::pair<long double, long double>> all;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    all.emplace_back(std::exp(static_cast<long double>(outputs[i])) / mass,
                     head.atom(static_cast<std::int64_t>(i)));
  return all;
}

/// Returns an offset by its definition, in long double.
long double exact_offset(const GuideSettings& settings, const ValueHead& head,
                         const Outputs& outputs) {
  const long double strength = 1.0L / static_cast<long double>(settings.eta);
  if (settings.kind == GuideKind::pita) {
    if (!settings.clamps_odds()) return strength * outputs[0];
    const long double odds = std::exp(static_cast<long double>(outputs[0]));
    return strength * std::log(std::clamp<long double>(odds, settings.min_odds, settings.max_odds));
  }
  long double mean = 0.0L;
  long double mean_exp = 0.0L;
  for (const auto& [probability, value] : distribution(head, outputs)) {
    mean += probability * value;
    mean_exp += probability * std::exp(strength * value);
  }
  return settings.kind == GuideKind::cd ? strength * mean : std::log(mean_exp);
}

/// Returns outputs of different sizes, up to those at which naive formulas overflow in double.
std::vector<Outputs> many_outputs(std::int64_t width) {
  std::vector<Outputs> all;
  std::uint64_t draw = 0;
  for (const double scale : {0.01, 1.0, 10.0, 300.0})
    for (int n = 0; n < 50; ++n) {
      Outputs outputs;
      for (std::int64_t i = 0; i < width; ++i)
        outputs.push_back(scale * std::sin(1.7 * static_cast<double>(++draw)));
      all.push_back(outputs);
    }
  return all;
}

/// Returns guide_offset() of each row, rounded to float32.
at::Tensor rounded_offsets(const GuideSettings& settings, const ValueHead& head,
                           const at::Tensor& outputs) {
  at::Tensor result = at::empty({outputs.size(0)}, at::kFloat);
  for (std::int64_t i = 0; i < outputs.size(0); ++i) {
    const at::Tensor row = outputs[i].to(at::kDouble);
    result[i] = guide_offset(settings, head,
                             {row.const_data_ptr<double>(), static_cast<std::size_t>(row.numel())});
  }
  return result;
}

class OffsetTest : public testing::TestWithParam<std::tuple<GuideSettings, ValueHead>> {};

TEST_P(OffsetTest, IsThatOfLongDouble) {
  GuideSettings settings = std::get<0>(GetParam());
  const ValueHead& head = std::get<1>(GetParam());
  ASSERT_EQ(why_unfit(settings, head.kind), nullptr);
  for (const double eta : {0.05, 0.1, 0.5, 1.0, 20.0, 1e4}) {
    settings.eta = eta;
    for (const Outputs& outputs : many_outputs(head.outputs)) {
      const double expected = static_cast<double>(exact_offset(settings, head, outputs));
      EXPECT_NEAR(guide_offset(settings, head, outputs), expected,
                  1e-13 + 1e-13 * std::abs(expected))
          << eta << " " << outputs[0];
    }
  }
}

TEST_P(OffsetTest, TensorsGiveTheOffsetsOfRows) {
  GuideSettings settings = std::get<0>(GetParam());
  const ValueHead& head = std::get<1>(GetParam());
  const auto numbers = many_outputs(head.outputs);
  const at::Tensor outputs = at::empty({std::ssize(numbers), head.outputs}, at::kFloat);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    outputs[static_cast<std::int64_t>(i)].copy_(at::tensor(numbers[i], at::kDouble));
  for (const double eta : {1e-6, 0.05, 0.5, 1e4}) {
    settings.eta = eta;
    const at::Tensor expected = rounded_offsets(settings, head, outputs);
    const at::Tensor by_rows = guide_offsets_by_rows(settings, head, outputs);
    EXPECT_TRUE(by_rows.equal(expected));
    EXPECT_TRUE(guide_offsets(settings, head, outputs).equal(expected));
    const at::Tensor by_tensors = guide_offsets_by_tensors(settings, head, outputs);
    // One rounding to float32 is at most 6e-8 of the value.
    EXPECT_TRUE(at::allclose(by_tensors, expected, 1.2e-7, 1e-12)) << eta;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OffsetTest,
    testing::Values(
        std::tuple(GuideSettings{.kind = GuideKind::pita}, kBernoulli),
        std::tuple(GuideSettings{.kind = GuideKind::pita, .min_odds = 0.01, .max_odds = 0.99},
                   kBernoulli),
        std::tuple(GuideSettings{.kind = GuideKind::pita}, kExpectation),
        std::tuple(GuideSettings{.kind = GuideKind::qsharp}, kBernoulli),
        std::tuple(GuideSettings{.kind = GuideKind::qsharp}, kHistogram),
        std::tuple(GuideSettings{.kind = GuideKind::cd}, kBernoulli),
        std::tuple(GuideSettings{.kind = GuideKind::cd}, kHistogram)));

TEST(OffsetLimitTest, LargeOutputsDoNotOverflow) {
  const GuideSettings qsharp{.kind = GuideKind::qsharp, .eta = 0.1};
  const GuideSettings cd{.kind = GuideKind::cd, .eta = 0.1};
  EXPECT_EQ(guide_offset(qsharp, kBernoulli, Outputs{1e4}), 10.0);
  EXPECT_EQ(guide_offset(qsharp, kBernoulli, Outputs{-1e4}), 0.0);
  EXPECT_EQ(guide_offset(cd, kBernoulli, Outputs{1e4}), 10.0);
  EXPECT_EQ(guide_offset(cd, kBernoulli, Outputs{-1e4}), 0.0);
  Outputs outputs(11, -1e4);
  outputs[5] = 1e4;  // the atom of 1
  EXPECT_NEAR(guide_offset(qsharp, kHistogram, outputs), 10.0, 1e-11);
  EXPECT_NEAR(guide_offset(cd, kHistogram, outputs), 10.0, 1e-14);
  const GuideSettings tiny{.kind = GuideKind::qsharp, .eta = 1e-6};
  EXPECT_EQ(guide_offset(tiny, kBernoulli, Outputs{1e4}), 1e6);
  EXPECT_TRUE(std::isfinite(guide_offset(tiny, kHistogram, outputs)));
}

TEST(OffsetLimitTest, QsharpIsCdForALargeEtaAndTheBestReturnForASmallOne) {
  for (const double z : {-3.0, 0.0, 2.0}) {
    const double p = 1.0 / (1.0 + std::exp(-z));
    const auto offset = [&](double eta) {
      return guide_offset({.kind = GuideKind::qsharp, .eta = eta}, kBernoulli, Outputs{z});
    };
    EXPECT_NEAR(offset(1e5) * 1e5, p, 1e-5);
    EXPECT_NEAR(offset(1e-2), std::max(0.0, 100.0 + std::log(p)), 1e-9);
  }
}

TEST(OffsetLimitTest, EqualValuesGiveEqualOffsetsAndPitaGivesNoneForEvenOdds) {
  EXPECT_EQ(guide_offset({.kind = GuideKind::pita, .eta = 0.1}, kBernoulli, Outputs{0.0}), 0.0);
  const GuideSettings clamped{
      .kind = GuideKind::pita, .eta = 0.1, .min_odds = 0.01, .max_odds = 0.99};
  EXPECT_EQ(guide_offset(clamped, kBernoulli, Outputs{0.5}),
            guide_offset(clamped, kBernoulli, Outputs{50.0}));
  EXPECT_NEAR(guide_offset(clamped, kBernoulli, Outputs{-50.0}), -46.0517, 1e-4);
}

TEST(OffsetFitTest, AlgorithmsThatNeedAnotherHeadAreRefused) {
  EXPECT_NE(why_unfit({.kind = GuideKind::qsharp}, ValueKind::expectation), nullptr);
  EXPECT_NE(why_unfit({.kind = GuideKind::pita}, ValueKind::histogram), nullptr);
  EXPECT_NE(why_unfit({.kind = GuideKind::cd, .max_odds = 0.99}, ValueKind::bernoulli), nullptr);
  EXPECT_NE(why_unfit({.kind = GuideKind::pita, .max_odds = 0.99}, ValueKind::expectation),
            nullptr);
  EXPECT_EQ(why_unfit({.kind = GuideKind::cd}, ValueKind::expectation), nullptr);
}

/// Returns the probability of the second of two actions. The reference is uniform, and its logits
/// get the offsets.
double second_of(double first_offset, double second_offset) {
  return 1.0 / (1.0 + std::exp(first_offset - second_offset));
}

// Theorem 4.1 of Zhou et al., arXiv 2502.20548: the left action pays 0.1 always, the right one pays
// 1 with probability 0.05. The atoms are 0, 0.1, ..., 1.
TEST(TreeTest, QsharpGoesRightForASmallEtaAndCdNeverDoes) {
  constexpr ValueHead head{
      .kind = ValueKind::histogram, .outputs = 11, .lowest = 0.0, .highest = 1.0};
  Outputs left(11, -1e5);
  left[1] = 0.0;
  Outputs right(11, -1e5);
  right[0] = std::log(0.95);
  right[10] = std::log(0.05);
  struct Row {
    double eta;
    double qsharp;
    double cd;
  };
  constexpr std::array rows = {Row{0.05, 1.0000, 0.2689}, Row{0.1, 0.9975, 0.3775},
                               Row{0.2, 0.8354, 0.4378},  Row{0.25, 0.7115, 0.4502},
                               Row{0.3, 0.6276, 0.4584},  Row{0.5, 0.5193, 0.4750},
                               Row{1.0, 0.4956, 0.4875}};
  for (const Row& row : rows) {
    const auto right_by = [&](GuideKind kind) {
      const GuideSettings settings{.kind = kind, .eta = row.eta};
      return second_of(guide_offset(settings, head, left), guide_offset(settings, head, right));
    };
    const double exact = second_of(0.1 / row.eta, std::log(0.05 * std::exp(1.0 / row.eta) + 0.95));
    EXPECT_NEAR(right_by(GuideKind::qsharp), exact, 1e-12);
    EXPECT_NEAR(right_by(GuideKind::qsharp), row.qsharp, 5e-5);
    EXPECT_NEAR(right_by(GuideKind::cd), second_of(0.1 / row.eta, 0.05 / row.eta), 1e-12);
    EXPECT_NEAR(right_by(GuideKind::cd), row.cd, 5e-5);
  }
}

TEST(ToyLanguageTest, QsharpWithExactValuesReachesTheOptimum) {
  const ToyLanguage language;
  const double p = language.success({});
  ASSERT_GT(p, 0.2);
  ASSERT_LT(p, 0.5);
  for (const double eta : {0.05, 0.1, 0.3, 0.5, 1.0, 3.0}) {
    const auto by = [&](GuideKind kind) {
      return language.objective({}, eta, [&](const ToyLanguage::Prefix& prefix) {
        return language.guided(prefix, {.kind = kind, .eta = eta});
      });
    };
    const double best = eta * std::log(p * std::exp(1.0 / eta) + 1.0 - p);
    const double of_reference = language.objective(
        {}, eta, [&](const ToyLanguage::Prefix& prefix) { return language.reference(prefix); });
    EXPECT_NEAR(of_reference, p, 1e-14);
    EXPECT_NEAR(by(GuideKind::qsharp), best, 1e-12) << eta;
    EXPECT_LE(by(GuideKind::cd), best) << eta;
    EXPECT_LT(of_reference, best) << eta;
    EXPECT_LE(by(GuideKind::pita), best) << eta;
  }
}

// The best of four strings of the reference has a lower objective than the optimum.
TEST(ToyLanguageTest, TheBestOfFourIsBelowTheOptimumOfItsKl) {
  const double p = ToyLanguage().success({});
  const double reached = 1.0 - std::pow(1.0 - p, 4);
  const double kl =
      reached * std::log(reached / p) + (1.0 - reached) * std::log((1.0 - reached) / (1.0 - p));
  for (const double eta : {0.1, 0.5, 1.0})
    EXPECT_LE(reached - eta * kl, eta * std::log(p * std::exp(1.0 / eta) + 1.0 - p) + 1e-12);
}

}  // namespace
}  // namespace mgpu::lm
