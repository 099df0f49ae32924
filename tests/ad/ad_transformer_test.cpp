#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/action_loss.hpp>
#include <mgpu/base/error.hpp>

#include "formula_batch.hpp"

namespace mgpu::ad {
namespace {

double largest(const at::Tensor& x) {
  return x.abs().max().item<double>();
}

AdTransformer formula_model(TokenKind tokens, AttentionKind attention, double dropout = 0.0,
                            DType dtype = DType::f32) {
  AdTransformerConfig config = formula_config(tokens, attention);
  config.dropout = dropout;
  AdTransformer model(config, Device{}, 1, dtype);
  set_formula_weights(model.parameters());
  return model;
}

StepTokens narrow(const StepTokens& t, std::int64_t begin, std::int64_t count) {
  const auto part = [&](const at::Tensor& field) { return field.narrow(1, begin, count); };
  return {part(t.x),      part(t.y),         part(t.action),
          part(t.reward), part(t.landing_x), part(t.landing_y)};
}

/// Returns the gradients of the mean loss as one flat tensor.
at::Tensor gradients(AdTransformer& model, const DropoutSamples* dropout) {
  const at::Tensor logits = model.forward(formula_steps(), dropout);
  const at::Tensor targets = formula_step_targets();
  const ActionLoss loss = action_loss(logits.to(at::kFloat), targets, 1.0 / 33.0);
  model.parameters().zero_gradients();
  logits.backward(loss.grad.to(logits.scalar_type()));
  return model.parameters().gradients().clone();
}

double mean_loss(const AdTransformer& model, const DropoutSamples* dropout) {
  const at::NoGradGuard no_grad;
  const at::Tensor log_p = model.forward(formula_steps(), dropout).log_softmax(-1);
  const at::Tensor targets = formula_step_targets();
  const at::Tensor picked = log_p.gather(-1, targets.clamp_min(0).unsqueeze(-1)).squeeze(-1);
  return -(picked * (targets != kernels::kIgnoreTarget)).sum().item<double>() / 33.0;
}

// Central differences with step h have an error of h^2 / 6 times the third derivative, about 1e-9
// here. Their rounding error is about 1e-16 / h = 1e-12. The gradient passes once through float32,
// with an error of 1e-7.
TEST(AdTransformerTest, GradientsAreFiniteDifferencesInDoubleWithDropoutToo) {
  AdTransformer model = formula_model(TokenKind::step, AttentionKind::eager, 0.2, DType::f64);
  const DropoutSamples dropout{3, at::tensor({7, 8, 9}, at::kLong)};
  const at::Tensor analytic = gradients(model, &dropout);
  constexpr double kStep = 1e-4;
  auto* weights = model.parameters().weights().mutable_data_ptr<double>();
  for (std::size_t k = 0; k < model.parameters().size(); ++k) {
    const tensor::ParameterSpan span = model.parameters().span(k);
    for (std::int64_t i = span.begin; i < span.begin + span.count;
         i += std::max<std::int64_t>(span.count / 5, 1)) {
      const double kept = weights[i];
      weights[i] = kept + kStep;
      const double above = mean_loss(model, &dropout);
      weights[i] = kept - kStep;
      const double below = mean_loss(model, &dropout);
      weights[i] = kept;
      EXPECT_NEAR(analytic[i].item<double>(), (above - below) / (2.0 * kStep), 3e-7)
          << model.parameters().spec(k).name << " element " << i - span.begin;
    }
  }
}

TEST(AdTransformerTest, FlashAndEagerAttentionDropTheSame) {
  AdTransformer eager = formula_model(TokenKind::step, AttentionKind::eager, 0.3);
  AdTransformer flash = formula_model(TokenKind::step, AttentionKind::flash, 0.3);
  const DropoutSamples dropout{3, at::tensor({70, 80, 90}, at::kLong)};

  const at::Tensor difference =
      eager.forward(formula_steps(), &dropout) - flash.forward(formula_steps(), &dropout);

  // Float rounding in two blocks with values around 1; a different mask changes results by 0.1.
  EXPECT_LT(largest(difference), 1e-5);
  EXPECT_LT(largest(gradients(eager, &dropout) - gradients(flash, &dropout)), 1e-6);
}

TEST(AdTransformerTest, DropoutFollowsTheSampleWhereverItsRowIs) {
  const AdTransformer model = formula_model(TokenKind::step, AttentionKind::flash, 0.3);
  const StepTokens steps = formula_steps();
  const at::Tensor order = at::tensor({2, 0, 1}, at::kLong);
  const auto moved = [&](const at::Tensor& field) { return field.index_select(0, order); };
  const StepTokens shuffled{moved(steps.x),      moved(steps.y),         moved(steps.action),
                            moved(steps.reward), moved(steps.landing_x), moved(steps.landing_y)};
  const DropoutSamples dropout{3, at::tensor({70, 80, 90}, at::kLong)};
  const DropoutSamples as_moved{3, at::tensor({90, 70, 80}, at::kLong)};

  const at::Tensor a = model.forward(steps, &dropout).index_select(0, order);
  const at::Tensor b = model.forward(shuffled, &as_moved);

  EXPECT_TRUE(a.equal(b));
  EXPECT_GT(largest(a - model.forward(shuffled)), 1e-3);  // dropout has an effect
}

TEST(AdTransformerTest, ARowDoesNotSeeItsNeighbors) {
  const AdTransformer model = formula_model(TokenKind::step, AttentionKind::flash);
  StepTokens steps = formula_steps();
  const at::Tensor before = model.forward(steps).select(0, 1).clone();
  steps.x = steps.x.clone();
  steps.x.select(0, 0).fill_(3);
  steps.x.select(0, 2).fill_(99);  // out of range: NaN in that row only

  const at::Tensor after = model.forward(steps);

  EXPECT_TRUE(after.select(0, 1).equal(before));
  EXPECT_TRUE(after.select(0, 2).isnan().all().item<bool>());
}

TEST(AdTransformerTest, ATokenDoesNotSeeLaterOnes) {
  const AdTransformer model = formula_model(TokenKind::step, AttentionKind::flash);
  StepTokens steps = formula_steps();
  const at::Tensor before = model.forward(steps).narrow(1, 0, 5).clone();
  steps.reward = steps.reward.clone();
  steps.reward.narrow(1, 5, 7).fill_(1);

  EXPECT_TRUE(model.forward(steps).narrow(1, 0, 5).equal(before));
}

TEST(AdTransformerTest, WhatFollowsTheQueryHasNoInfluence) {
  const AdTransformer model = formula_model(TokenKind::transition, AttentionKind::flash);
  TransitionTokens tokens = formula_transitions();  // lengths 11, 4, 0
  const at::Tensor before = model.forward(tokens).clone();
  tokens.transitions = tokens.transitions.clone();
  tokens.transitions.select(0, 1).narrow(0, 4, 7).fill_(1e6);

  EXPECT_TRUE(model.forward(tokens).equal(before));
}

TEST(AdTransformerTest, WrongTokensAreRefused) {
  const AdTransformer model = formula_model(TokenKind::step, AttentionKind::flash);
  StepTokens steps = formula_steps();
  steps.y = steps.y.narrow(1, 0, 5);
  EXPECT_THROW(model.forward(steps), ShapeError);
  EXPECT_THROW(model.forward(formula_transitions()), ShapeError);
  const AdTransformer other = formula_model(TokenKind::transition, AttentionKind::flash);
  TransitionTokens tokens = formula_transitions();
  tokens.lengths[0] = 12;
  EXPECT_THROW(other.forward(tokens), ShapeError);
}

// bf16 keeps 8 bits: each product is off by 2^-8, and errors of a sum add up as a random walk.
TEST(AdTransformerTest, HalfPrecisionStaysNearFloat) {
  for (const tensor::ComputeKind compute : {tensor::ComputeKind::bf16, tensor::ComputeKind::f16}) {
    AdTransformer exact = formula_model(TokenKind::step, AttentionKind::flash);
    AdTransformerConfig config = exact.config();
    config.compute = compute;
    AdTransformer half(config, Device{}, 1);
    set_formula_weights(half.parameters());
    const at::Tensor expected = gradients(exact, nullptr);

    EXPECT_LT(largest(half.forward(formula_steps()) - exact.forward(formula_steps())), 0.05);
    EXPECT_LT(largest(gradients(half, nullptr) - expected), 0.05 * largest(expected));
  }
}

// A CPU without 16-bit matrix products must give the results of a GPU. So it rounds the operands
// and gradients of each product to the 16-bit type.
TEST(AdTransformerTest, HalfPrecisionMultipliesRoundedWeights) {
  for (const tensor::ComputeKind compute : {tensor::ComputeKind::bf16, tensor::ComputeKind::f16}) {
    AdTransformerConfig config = formula_config(TokenKind::step, AttentionKind::flash);
    config.compute = compute;
    const AdTransformer model(config, Device{}, 1);
    const at::Tensor before = model.forward(formula_steps());
    const at::NoGradGuard no_grad;
    for (const char* name : {"blocks.0.attn.qkv.weight", "blocks.0.mlp.down.weight"}) {
      const at::Tensor& weight = model.parameters().parameter(name);
      const at::Tensor rounded =
          weight.to(compute == tensor::ComputeKind::bf16 ? at::kBFloat16 : at::kHalf)
              .to(at::kFloat);
      EXPECT_GT(largest(rounded - weight), 0.0);
      weight.copy_(rounded);
    }

    EXPECT_EQ(largest(model.forward(formula_steps()) - before), 0.0);
  }
}

// Training halves the loss scale when a gradient is infinite. So gradients beyond the range of fp16
// must be infinite on every device.
TEST(AdTransformerTest, GradientsBeyondTheRangeOfFp16AreInfinite) {
  AdTransformerConfig config = formula_config(TokenKind::step, AttentionKind::flash);
  config.compute = tensor::ComputeKind::f16;
  AdTransformer model(config, Device{}, 1);
  const at::Tensor logits = model.forward(formula_steps());

  logits.backward(at::full_like(logits, 7e4));

  EXPECT_FALSE(model.parameters().gradients().isfinite().all().item<bool>());
}

TEST(AdTransformerDecodeTest, OneStepAtATimeIsTheWholeForward) {
  const AdTransformer model = formula_model(TokenKind::step, AttentionKind::flash);
  const StepTokens steps = formula_steps();
  const at::Tensor expected = model.forward(steps);
  KvCache cache = model.make_cache(kRows);

  for (std::int64_t t = 0; t < kTokens; ++t) {
    const at::Tensor logits = model.decode(cache, narrow(steps, t, 1), {1, 1, 1});
    EXPECT_LT(largest(logits - expected.select(1, t)), 1e-5) << t;
  }

  EXPECT_THROW(model.decode(cache, narrow(steps, 0, 1), {1, 0, 0}), ShapeError);
  EXPECT_EQ(cache.lengths(), (std::vector<std::int64_t>{12, 12, 12}));
}

// Row 0 restarts after 5 steps and refills its window with 3 at once while the others wait.
TEST(AdTransformerDecodeTest, ARowRestartsAloneAndTheOthersGoOn) {
  const AdTransformer model = formula_model(TokenKind::step, AttentionKind::flash);
  const StepTokens steps = formula_steps();
  const at::Tensor whole = model.forward(steps);
  const at::Tensor restarted = model.forward(narrow(steps, 5, 7));
  KvCache cache = model.make_cache(kRows);
  model.decode(cache, narrow(steps, 0, 5), {5, 5, 5});

  cache.restart(0);
  const at::Tensor refill = model.decode(cache, narrow(steps, 5, 3), {3, 0, 0});
  EXPECT_LT(largest(refill[0] - restarted[0][2]), 1e-5);
  const at::Tensor others = model.decode(cache, narrow(steps, 5, 3), {0, 3, 2});
  EXPECT_LT(largest(others[1] - whole[1][7]), 1e-5);
  EXPECT_LT(largest(others[2] - whole[2][6]), 1e-5);
  const at::Tensor next = model.decode(cache, narrow(steps, 8, 1), {1, 1, 0});
  EXPECT_LT(largest(next[0] - restarted[0][3]), 1e-5);
  EXPECT_LT(largest(next[1] - whole[1][8]), 1e-5);
}

TEST(AdTransformerDecodeTest, ARowDoesNotSeeItsNeighbors) {
  const AdTransformer model = formula_model(TokenKind::step, AttentionKind::flash);
  StepTokens steps = formula_steps();
  const auto run = [&] {
    KvCache cache = model.make_cache(kRows);
    model.decode(cache, narrow(steps, 0, 6), {6, 6, 6});
    return model.decode(cache, narrow(steps, 6, 1), {1, 1, 1}).select(0, 1).clone();
  };
  const at::Tensor before = run();
  steps.action = steps.action.clone();
  steps.action.select(0, 0).fill_(2);

  EXPECT_TRUE(run().equal(before));
}

TEST(AdTransformerDecodeTest, TransitionsAreKeptAndQueriesAreNot) {
  const AdTransformer model = formula_model(TokenKind::transition, AttentionKind::flash);
  TransitionTokens all = formula_transitions();
  KvCache cache = model.make_cache(kRows);
  std::vector<std::int64_t> seen(kRows, 0);
  for (int call = 0; call < 4; ++call) {
    const std::vector<std::int64_t> counts{call, 1, call % 2};
    TransitionTokens fresh{at::zeros({kRows, 3, 10}), all.query, counts};
    for (std::int64_t b = 0; b < kRows; ++b) {
      const auto row = static_cast<std::size_t>(b);
      fresh.transitions[b].narrow(0, 0, counts[row]) =
          all.transitions[b].narrow(0, seen[row], counts[row]);
      seen[row] += counts[row];
    }
    const at::Tensor logits = model.decode(cache, fresh);
    all.lengths = seen;
    EXPECT_LT(largest(logits - model.forward(all)), 1e-5) << call;
  }
  EXPECT_EQ(cache.lengths(), (std::vector<std::int64_t>{6, 4, 2}));
}

}  // namespace
}  // namespace mgpu::ad
