// Compares the losses and metrics of recipe prm with those of PyTorch in float64.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/kernels/cross_entropy.hpp>

#include "golden_file.hpp"
#include "golden_tensors.hpp"
#include "recipes/prm/loss.hpp"
#include "recipes/prm/step_metrics.hpp"

namespace mgpu::recipes {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

struct Case {
  const char* name;
  PrmLossKind kind;
  std::int64_t outputs;
};

/// The solutions of a golden as a batch. A step ends at token t if mask[t] is set, so that token t
/// - 1 has a target.
struct Batch {
  Batch(const GoldenTensors& goldens, const Case& of) {
    const std::string name = of.name;
    const auto outputs = goldens.values<double>(name + ".outputs");
    const auto labels = goldens.values<double>(name + ".labels");
    const auto questions = goldens.values<std::int64_t>("questions");
    mask = goldens.values<std::int64_t>(name + ".mask");
    width = static_cast<std::size_t>(of.outputs);
    const std::size_t tokens = mask.size() / questions.size();
    ids.assign(tokens, 1);
    for (std::size_t place = 0; place < mask.size(); ++place) {
      const bool ends = (place + 1) % tokens == 0;
      const bool predicts = !ends && mask[place + 1] != 0;
      batch.targets.push_back(predicts ? 1 : kernels::kIgnoreTarget);
      batch.token_columns[kStepLabelColumn].push_back(predicts ? labels[place + 1] : 0.0);
    }
    values.head = at_steps(outputs);
    for (const std::int64_t question : questions) {
      batch.groups.push_back(batch.spans.size());
      batch.spans.push_back({std::span<const std::int64_t>(ids)});
      batch.sequence_columns[kQuestionColumn].push_back(static_cast<double>(question));
      batch.sequence_columns[kMostStepsColumn].push_back(static_cast<double>(tokens));
    }
  }

  /// Returns the values of all outputs at the ends of steps.
  std::vector<double> at_steps(const std::vector<double>& all) const {
    std::vector<double> found;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (mask[i / width] != 0) found.push_back(all[i]);
    return found;
  }

  std::size_t width = 0;
  std::vector<std::int64_t> mask;
  std::vector<std::int64_t> ids;
  lm::LmBatch batch;
  lm::TokenValues values;
};

class PrmLossTest : public testing::TestWithParam<Case> {};

TEST_P(PrmLossTest, LossGradientAndMetricsAreThoseOfPyTorch) {
  const std::string name = GetParam().name;
  PrmSettings settings{.kind = GetParam().kind};
  settings.head.outputs = GetParam().outputs;

  const GoldenTensors goldens(golden_file("prm"));
  const Batch of(goldens, GetParam());

  const WeighedBatch mine = weigh_batch(PrmLoss(settings), of.batch, of.values);

  EXPECT_NEAR(mine.loss, goldens.values<double>(name + ".loss")[0], 1e-12);
  EXPECT_NEAR(mine.accuracy, goldens.values<double>(name + ".accuracy")[0], 1e-12);
  EXPECT_THAT(mine.slopes.head, Pointwise(DoubleNear(1e-12),
                                          of.at_steps(goldens.values<double>(name + ".gradient"))));
  EXPECT_THAT(mine.digest, Pointwise(DoubleNear(1e-12), goldens.values<double>(name + ".metrics")));
  EXPECT_EQ(mine.digest.size(), PrmLoss::reported_values().size());
}

INSTANTIATE_TEST_SUITE_P(All, PrmLossTest,
                         testing::Values(Case{"bce_1", PrmLossKind::bce, 1},
                                         Case{"bce_2", PrmLossKind::bce, 2},
                                         Case{"mse_1", PrmLossKind::mse, 1},
                                         Case{"mse_2", PrmLossKind::mse, 2},
                                         Case{"pairwise_1", PrmLossKind::pairwise, 1},
                                         Case{"pairwise_2", PrmLossKind::pairwise, 2}),
                         [](const auto& of) { return of.param.name; });

TEST(StepMetricsTest, AreasLackValuesWithoutRightAndWrongSteps) {
  const std::vector<JudgedStep> right{{0, 1.0, 1.0, true}, {1, 2.0, 1.0, true}};
  EXPECT_TRUE(std::isnan(area_under_curve(right)));
  EXPECT_TRUE(std::isnan(area_within_questions(right)));
  EXPECT_TRUE(std::isnan(calibration_error({})));
}

TEST(StepMetricsTest, QuestionsOfDifferentDifficultyDoNotHelpWithinQuestions) {
  // The logits tell the questions apart, but not the steps of a question.
  const std::vector<JudgedStep> steps{{0, -1.0, 0.0, false}, {0, -1.0, 0.0, false},
                                      {0, -1.0, 1.0, true},  {1, 1.0, 1.0, true},
                                      {1, 1.0, 1.0, true},   {1, 1.0, 0.0, false}};
  EXPECT_EQ(area_within_questions(steps), 0.5);
  EXPECT_GT(area_under_curve(steps), 0.6);
}

}  // namespace
}  // namespace mgpu::recipes
