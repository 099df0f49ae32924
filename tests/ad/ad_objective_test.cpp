#include <numeric>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/ad/ad_batch.hpp>
#include <mgpu/ad/ad_objective.hpp>
#include <mgpu/ad/source.hpp>

#include "formula_batch.hpp"
#include "ring.hpp"

namespace mgpu::ad {
namespace {

constexpr std::int64_t kItems = 6;
constexpr double kScale = 1.0 / 64.0;

class AdObjectiveTest : public ::testing::TestWithParam<TokenKind> {
protected:
  AdObjectiveTest() { play_all(*make_source("random_walk", ring_, {.epsilon = 0.3}), histories_); }

  static bool sees_steps() { return GetParam() == TokenKind::step; }

  static AdTransformer make_model(double dropout) {
    AdTransformerConfig config = formula_config(
        sees_steps() ? TokenKind::step : TokenKind::transition, AttentionKind::flash);
    config.dropout = dropout;
    AdTransformer model(config, Device{}, 1);
    set_formula_weights(model.parameters());
    return model;
  }

  /// Returns the sums of items 0 to kItems - 1. libtorch computes the loss from the model's logits.
  /// Leaves the gradient, times kScale, in `model`.
  train::PassSums plain_pass(AdTransformer& model) const {
    std::vector<std::uint64_t> ordinals(kItems);
    std::iota(ordinals.begin(), ordinals.end(), 0);
    at::Tensor logits;   // [predictions, A]
    at::Tensor targets;  // [predictions]
    if (sees_steps()) {
      StepBuffers buffers(kItems, rules_.tokens);
      windows_.fill(ordinals, buffers.batch());
      logits = model.forward(buffers.to_model(Device{}, rules_.tokens)).flatten(0, 1);
      targets = buffers.targets(Device{}).flatten();
    } else {
      TransitionBuffers buffers(kItems, rules_.tokens,
                                static_cast<std::int64_t>(windows_.writer().num_features()));
      windows_.fill(ordinals, buffers.batch());
      logits = model.forward(buffers.to_model(Device{}));
      targets = buffers.targets(Device{});
    }
    const at::Tensor loss = at::cross_entropy_loss(logits, targets, {}, at::Reduction::Sum);
    (loss * kScale).backward();
    return {loss.item<double>(), targets.numel(),
            (logits.argmax(1) == targets).sum().item<std::int64_t>()};
  }

  Ring ring_;
  HistoryShape shape_{.streams = 3, .episodes = 5, .horizon = Ring::kHorizon};
  HistorySet histories_{ring_, shape_};
  WindowRules rules_ = make_window_rules(GetParam(), 12, shape_);
  TrainingWindows windows_{ring_, histories_, rules_, 0};
  PhaseClock clock_;
};

// Both losses sum float32 terms around 1, but in different orders. The error is about 1e-6.
TEST_P(AdObjectiveTest, LossAndGradientAreThoseOfAPlainCrossEntropy) {
  AdTransformer model = make_model(0.0);
  AdTransformer plain = make_model(0.0);
  AdObjective objective(model, windows_, {}, clock_);
  const train::PassSums expected = plain_pass(plain);

  const train::PassSums sums = objective.add_gradients(0, kItems, kScale);

  EXPECT_NEAR(sums.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_EQ(sums.predictions, expected.predictions);
  EXPECT_EQ(sums.correct, expected.correct);
  EXPECT_EQ(sums.predictions, objective.predictions(0, kItems));
  const at::Tensor& gradients = plain.parameters().gradients();
  EXPECT_GT(gradients.abs().max().item<double>(), 1e-3);
  EXPECT_LT((model.parameters().gradients() - gradients).abs().max().item<double>(), 1e-5);
}

// A rank divides its items into as many passes as memory requires. Dropout depends on the item, not
// on its pass.
TEST_P(AdObjectiveTest, PassesAddUpToTheBatchWithDropoutToo) {
  AdTransformer whole = make_model(0.2);
  AdTransformer parts = make_model(0.2);
  const AdObjectiveOptions options{.label_smoothing = 0.1, .seed = 3};
  AdObjective at_once(whole, windows_, options, clock_);
  AdObjective in_parts(parts, windows_, options, clock_);

  const train::PassSums sums = at_once.add_gradients(10, kItems, kScale);
  const train::PassSums first = in_parts.add_gradients(10, 1, kScale);
  const train::PassSums second = in_parts.add_gradients(11, 5, kScale);

  EXPECT_NEAR(first.loss + second.loss, sums.loss, 1e-5 * sums.loss);
  EXPECT_EQ(first.predictions + second.predictions, sums.predictions);
  EXPECT_EQ(first.correct + second.correct, sums.correct);
  const at::Tensor difference = whole.parameters().gradients() - parts.parameters().gradients();
  EXPECT_LT(difference.abs().max().item<double>(), 1e-5);
}

TEST_P(AdObjectiveTest, TheClockHearsOfDataForwardAndBackward) {
  AdTransformer model = make_model(0.0);
  AdObjective objective(model, windows_, {}, clock_);

  objective.add_gradients(0, 1, kScale);

  std::vector<std::string> phases;
  for (const PhaseClock::Total& total : clock_.totals())
    phases.push_back(total.phase);
  EXPECT_THAT(phases, ::testing::IsSupersetOf({"waiting for data", "forward", "backward"}));
}

INSTANTIATE_TEST_SUITE_P(Tokens, AdObjectiveTest,
                         ::testing::Values(TokenKind::step, TokenKind::transition),
                         [](const ::testing::TestParamInfo<TokenKind>& tokens) {
                           return tokens.param == TokenKind::step ? "Step" : "Transition";
                         });

}  // namespace
}  // namespace mgpu::ad
