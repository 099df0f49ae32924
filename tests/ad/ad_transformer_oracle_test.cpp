// Compares the model with PyTorch: tests/oracle/ad_transformer.py made the goldens (torch 2.11.0).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/action_loss.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/train/adamw.hpp>

#include "formula_batch.hpp"

namespace mgpu::ad {
namespace {

/// Reads values in the order in which the script wrote them.
class Golden {
public:
  explicit Golden(TokenKind kind) {
    const std::string name = kind == TokenKind::step ? "ad_step.bin" : "ad_transition.bin";
    std::ifstream file(std::string(MGPU_GOLDENS) + "/" + name, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    values_ = at::empty({static_cast<std::int64_t>(bytes.size() / sizeof(float))}, at::kFloat);
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(values_.mutable_data_ptr()));
  }

  at::Tensor next(at::IntArrayRef shape) {
    const std::int64_t count = c10::multiply_integers(shape);
    const at::Tensor part = values_.narrow(0, at_, count).view(shape);
    at_ += count;
    return part;
  }

  bool is_used_up() const { return at_ == values_.numel(); }

private:
  at::Tensor values_;  // [all] float32
  std::int64_t at_ = 0;
};

struct Case {
  TokenKind tokens;
  AttentionKind attention;
  DType dtype;
};

at::Tensor forward(const AdTransformer& model) {
  if (model.config().tokens == TokenKind::step) return model.forward(formula_steps());
  return model.forward(formula_transitions());
}

at::Tensor targets_of(TokenKind kind) {
  return kind == TokenKind::step ? formula_step_targets() : formula_transition_targets();
}

/// Returns the largest difference, relative to the largest value of the golden tensor.
double distance(const at::Tensor& actual, const at::Tensor& golden) {
  const double difference = (actual - golden).abs().max().item<double>();
  return difference / (golden.abs().max().item<double>() + 1e-3);
}

class AdTransformerOracleTest : public testing::TestWithParam<Case> {
protected:
  AdTransformerOracleTest()
      : model_(formula_config(GetParam().tokens, GetParam().attention), Device{}, 1,
               GetParam().dtype),
        golden_(GetParam().tokens) {
    set_formula_weights(model_.parameters());
  }

  /// Runs a forward and a backward pass with the oracle's loss. Returns the mean loss, and leaves
  /// the gradients in the arena.
  double forward_backward(at::Tensor* logits_out) {
    const at::Tensor logits = forward(model_);
    const at::Tensor targets = targets_of(GetParam().tokens);
    const double count =
        static_cast<double>((targets != kernels::kIgnoreTarget).sum().item<std::int64_t>());
    const ActionLoss loss = action_loss(logits.to(at::kFloat), targets, 1.0 / count, 0.1);
    model_.parameters().zero_gradients();
    logits.backward(loss.grad.to(logits.scalar_type()));
    *logits_out = logits.detach();
    return loss.sums().loss / count;
  }

  // Sums of at most 3 * 12 * 48 float terms against float64: some ten ulp of the largest value.
  // The float64 model still passes its logits and their gradients through the float32 loss.
  static constexpr double kTolerance = 1e-5;

  AdTransformer model_;
  Golden golden_;
};

TEST_P(AdTransformerOracleTest, LossLogitsAndGradientsAreThoseOfPyTorch) {
  at::Tensor logits;
  const double loss = forward_backward(&logits);

  EXPECT_NEAR(loss, golden_.next({1}).item<double>(), 1e-6);
  EXPECT_LT(distance(logits, golden_.next(logits.sizes())), kTolerance);
  const tensor::ParameterArena& arena = model_.parameters();
  for (std::size_t i = 0; i < arena.size(); ++i)
    EXPECT_LT(distance(arena.gradient(i), golden_.next(arena.spec(i).shape)), kTolerance)
        << arena.spec(i).name;
}

TEST_P(AdTransformerOracleTest, ThreeUpdatesEndAtTheWeightsOfPyTorch) {
  if (GetParam().dtype != DType::f32) {
    EXPECT_THROW(train::Adamw(model_.parameters(), {}), Error);  // master weights are float32
    return;
  }
  train::Adamw optimizer(model_.parameters(), {0.9, 0.99, 1e-3, 0.1, 0.5});

  at::Tensor logits;
  for (int step = 0; step < 3; ++step) {
    forward_backward(&logits);
    ASSERT_TRUE(optimizer.step(1e-2).is_applied);
  }

  const tensor::ParameterArena& arena = model_.parameters();
  golden_.next({1 + logits.numel() + arena.num_parameters()});
  for (std::size_t i = 0; i < arena.size(); ++i)
    EXPECT_LT(distance(arena.parameter(i), golden_.next(arena.spec(i).shape)), kTolerance)
        << arena.spec(i).name;
  EXPECT_TRUE(golden_.is_used_up());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AdTransformerOracleTest,
    testing::Values(Case{TokenKind::step, AttentionKind::eager, DType::f32},
                    Case{TokenKind::step, AttentionKind::flash, DType::f32},
                    Case{TokenKind::step, AttentionKind::eager, DType::f64},
                    Case{TokenKind::transition, AttentionKind::eager, DType::f32},
                    Case{TokenKind::transition, AttentionKind::flash, DType::f32},
                    Case{TokenKind::transition, AttentionKind::eager, DType::f64}));

}  // namespace
}  // namespace mgpu::ad
