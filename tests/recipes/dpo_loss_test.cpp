// Compares the losses of recipe dpo with those of TRL, and with exact numbers.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/kernels/cross_entropy.hpp>

#include "golden_file.hpp"
#include "golden_tensors.hpp"
#include "recipes/dpo/loss.hpp"
#include "recipes/lm/reference.hpp"

namespace mgpu::recipes {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

/// The sequences of the goldens as a batch, pair after pair. Tokens outside the mask have no
/// target.
struct Batch {
  explicit Batch(const GoldenTensors& goldens) {
    const auto log_probs = goldens.values<double>("log_probs");
    const auto mask = goldens.values<std::int64_t>("mask");
    const auto reference = goldens.values<double>("reference");
    sequences = reference.size();
    tokens = mask.size() / sequences;
    ids.assign(tokens, 1);
    for (std::size_t s = 0; s < sequences; ++s) {
      const std::size_t row = row_of(s);
      batch.spans.push_back({std::span<const std::int64_t>(ids)});
      batch.groups.push_back(s / 2);
      batch.sequence_columns[kReferenceColumn].push_back(reference[row]);
      for (std::size_t t = 0; t < tokens; ++t) {
        const bool is_learned = t + 1 < tokens && mask[row * tokens + t + 1] != 0;
        batch.targets.push_back(is_learned ? 1 : kernels::kIgnoreTarget);
        values.log_probs.push_back(is_learned ? log_probs[row * (tokens - 1) + t] : 0.0);
      }
    }
  }

  /// Returns the row of a sequence in the goldens, which have all chosen sequences first.
  std::size_t row_of(std::size_t sequence) const {
    return sequence / 2 + (sequence % 2 == 0 ? 0 : sequences / 2);
  }

  std::size_t sequences = 0;
  std::size_t tokens = 0;
  std::vector<std::int64_t> ids;
  lm::LmBatch batch;
  lm::TokenValues values;
};

/// Returns the gradient of a loss in the layout of the goldens.
std::vector<double> gradient_of(const WeighedBatch& weighed, const Batch& of) {
  std::vector<double> gradient(of.sequences * (of.tokens - 1));
  for (std::size_t s = 0; s < of.sequences; ++s)
    for (std::size_t t = 0; t + 1 < of.tokens; ++t)
      if (of.batch.targets[s * of.tokens + t] != kernels::kIgnoreTarget)
        gradient[of.row_of(s) * (of.tokens - 1) + t] = weighed.slopes.log_probs[s * of.tokens + t];
  return gradient;
}

struct Case {
  const char* name;
  DpoKind kind;
};

class DpoLossTest : public testing::TestWithParam<Case> {
protected:
  GoldenTensors goldens_{golden_file("dpo")};
};

TEST_P(DpoLossTest, LossGradientAndMetricsAreThoseOfTrl) {
  const std::string name = GetParam().name;
  const auto settings = goldens_.values<double>(name + ".settings");
  const DpoLoss loss({GetParam().kind, settings[0], settings[1], settings[2]});

  const Batch of(goldens_);
  const WeighedBatch mine = weigh_batch(loss, of.batch, of.values);

  EXPECT_NEAR(mine.loss, goldens_.values<double>(name + ".loss")[0], 1e-9);
  EXPECT_THAT(gradient_of(mine, of),
              Pointwise(DoubleNear(1e-9), goldens_.values<double>(name + ".gradient")));
  std::vector<double> metrics = goldens_.values<double>(name + ".metrics");
  EXPECT_NEAR(mine.accuracy, metrics.back(), 1e-6);
  metrics.pop_back();
  const std::vector<double> reported(mine.digest.begin(), mine.digest.end() - 1);
  EXPECT_THAT(reported, Pointwise(DoubleNear(1e-9), metrics));
  EXPECT_EQ(reported.size(), DpoLoss::reported_values().size());
}

INSTANTIATE_TEST_SUITE_P(
    All, DpoLossTest,
    testing::Values(Case{"sigmoid", DpoKind::sigmoid}, Case{"sigmoid_beta", DpoKind::sigmoid},
                    Case{"ipo", DpoKind::ipo}, Case{"hinge", DpoKind::hinge},
                    Case{"robust", DpoKind::robust}, Case{"apo_zero", DpoKind::apo_zero},
                    Case{"sigmoid_norm", DpoKind::sigmoid_norm}, Case{"rpo", DpoKind::sigmoid}),
    [](const auto& tested) { return tested.param.name; });

TEST(DpoLossStartTest, LossesOfTheReferenceItselfAreKnownExactly) {
  const PairRatios start{0.0, 0.0, 3, 7};
  EXPECT_EQ(loss_of_pair({DpoKind::sigmoid}, start).loss, std::log(2.0));
  EXPECT_EQ(loss_of_pair({DpoKind::sigmoid}, start).chosen, -0.05);  // -beta / 2
  EXPECT_EQ(loss_of_pair({DpoKind::sigmoid_norm}, start).loss, std::log(2.0));
  EXPECT_EQ(loss_of_pair({DpoKind::hinge}, start).loss, 1.0);
  EXPECT_EQ(loss_of_pair({DpoKind::ipo}, start).loss, 25.0);
  EXPECT_EQ(loss_of_pair({DpoKind::apo_zero}, start).loss, 1.0);
  EXPECT_NEAR(loss_of_pair({DpoKind::robust, 0.1, 0.2}, start).loss, std::log(2.0), 1e-15);
}

TEST(DpoLossStartTest, SlopesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  for (const DpoKind kind : {DpoKind::sigmoid, DpoKind::ipo, DpoKind::hinge, DpoKind::robust,
                             DpoKind::apo_zero, DpoKind::sigmoid_norm}) {
    const DpoSettings settings{kind, 0.3, kind == DpoKind::robust ? 0.1 : 0.0};
    const PairRatios pair{-1.5, 0.75, 4, 6};
    const auto moved = [&](double chosen, double rejected) {
      return loss_of_pair(settings, {pair.chosen + chosen, pair.rejected + rejected, 4, 6}).loss;
    };
    const PairLoss exact = loss_of_pair(settings, pair);
    EXPECT_NEAR(exact.chosen, (moved(kStep, 0) - moved(-kStep, 0)) / (2 * kStep), 1e-8);
    EXPECT_NEAR(exact.rejected, (moved(0, kStep) - moved(0, -kStep)) / (2 * kStep), 1e-8);
  }
}

TEST(DpoLossStartTest, LargeRatiosDoNotOverflow) {
  for (const double ratio : {1e4, -1e4}) {
    const PairRatios pair{ratio, -ratio, 1, 1};
    for (const DpoKind kind : {DpoKind::sigmoid, DpoKind::apo_zero, DpoKind::sigmoid_norm}) {
      const PairLoss loss = loss_of_pair({kind}, pair);
      EXPECT_TRUE(std::isfinite(loss.loss) && std::isfinite(loss.chosen)) << loss.loss;
    }
  }
}

}  // namespace
}  // namespace mgpu::recipes
