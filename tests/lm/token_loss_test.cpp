// Tests losses that need one sweep, and the input that TokenLoss refuses.
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "dense_llama.hpp"
#include "example_losses.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kSeqLen = 16;

/// Computes the squared error between the head's K values of a token and column `old`, in one
/// sweep.
class ValueLoss final : public TokenLoss {
public:
  PassLoss bind(const LmBatch& batch) const override {
    const std::vector<double>& column = column_of(batch.token_columns, "old");
    std::vector<double> aims;
    for (std::size_t n = 0; n < batch.targets.size(); ++n)
      if (batch.targets[n] != kernels::kIgnoreTarget) aims.push_back(column[n]);
    const auto of_head = [aims](at::Tensor& outputs, std::optional<double> scale) {
      const at::Tensor error = outputs - at::tensor(aims, at::kDouble).unsqueeze(1);
      const LmSums sums{error.square().sum().item<double>(), outputs.size(0), 0};
      if (scale) outputs = error * (2.0 * *scale);
      return sums;
    };
    return {.of_head = of_head, .head_rows = HeadRows::learned};
  }
};

TEST(TokenLossTest, AHeadWithABiasIsTrainedInOneSweep) {
  const LmExamples examples = grouped_examples(8, 1);
  const LmWindows windows(examples, kSeqLen, 5);
  TrainableModel model = dense_model(
      {.dtype = DType::f64, .head = ModelHead{.name = "value", .outputs = 2, .has_bias = true}});
  const DenseLlama dense(model);
  LmBatch batch;
  at::Tensor expected = at::zeros({}, at::kDouble);
  for (std::size_t w = 0; w < windows.size(); ++w)
    windows.append(w, batch);
  std::int64_t token = 0;
  for (const SequenceSpan& span : batch.spans) {
    const std::vector<std::int64_t> ids(span.ids.begin(), span.ids.end());
    const auto first = batch.token_columns.at("old").begin() + token + 1;
    const at::Tensor aims =
        at::tensor(std::vector<double>(first, first + std::ssize(ids) - 2), at::kDouble);
    const at::Tensor values = dense.hidden(ids)
                                  .narrow(0, 1, std::ssize(ids) - 2)
                                  .matmul(dense.weight("value.weight").t()) +
                              dense.weight("value.bias");
    expected = expected + (values - aims.unsqueeze(1)).square().sum();
    token += std::ssize(ids);
  }
  const ValueLoss loss;

  const LmSums sums = model.add_gradients(batch, {0.5, nullptr, &loss});

  EXPECT_NEAR(sums.loss, expected.item<double>(), 1e-10 * sums.loss);
  EXPECT_EQ(model.loss(batch, loss).loss, sums.loss);
  expect_gradients(model, dense.gradients(expected * 0.5));
}

TEST(TokenLossTest, ParametersOfTheHeadAreReadyOnceWithTheirWholeGradient) {
  TrainableModel model = dense_model({.dtype = DType::f64, .head = ModelHead{.has_bias = true}});
  std::vector<at::Tensor> when_ready(model.parameters().size());
  model.parameters().on_gradient_ready([&](std::size_t p) {
    EXPECT_FALSE(when_ready[p].defined()) << model.parameters().spec(p).name;
    when_ready[p] = model.parameters().gradient(p).clone();
  });
  const LmWindows windows(grouped_examples(1, 1), kSeqLen, 5);
  LmBatch batch;
  windows.append(0, batch);
  const ValueLoss loss;

  model.add_gradients(batch, {1.0, nullptr, &loss});

  for (const char* name : {"score.weight", "score.bias"}) {
    const std::size_t p = model.parameters().index_of(name);
    ASSERT_TRUE(when_ready[p].defined()) << name;
    EXPECT_GT(when_ready[p].abs().max().item<double>(), 0.0);
    EXPECT_TRUE(at::equal(when_ready[p], model.parameters().gradient(p))) << name;
  }
}

TEST(TokenLossTest, RowsThatTheHeadDoesNotSeeLeaveGradientsAlone) {
  TrainableModel model = dense_model({.head = ModelHead{.has_bias = true}});
  LmExamples examples = grouped_examples(2, 1);
  examples.is_learned.assign(examples.ids.size(), 0);
  const LmWindows windows(examples, kSeqLen, 5);
  LmBatch batch;
  windows.append(0, batch);
  const ValueLoss loss;

  EXPECT_EQ(model.add_gradients(batch, {1.0, nullptr, &loss}).predictions, 0);
  EXPECT_TRUE(model.measure(batch, {.head_rows = HeadRows::learned}).head.empty());

  EXPECT_EQ(model.parameters().gradients().count_nonzero().item<std::int64_t>(), 0);
}

TEST(TokenLossTest, ColumnsOfAnotherLengthThanTheBatchAreRefused) {
  TrainableModel model = dense_model({});
  const LmWindows windows(grouped_examples(2, 1), kSeqLen, 5);
  LmBatch batch;
  windows.append(0, batch);
  LmBatch short_tokens = batch;
  short_tokens.token_columns["old"].pop_back();
  LmBatch long_sequences = batch;
  long_sequences.sequence_columns["reward"].push_back(1.0);

  EXPECT_THROW(model.add_gradients(short_tokens, 1.0), ShapeError);
  EXPECT_THROW(model.add_gradients(long_sequences, 1.0), ShapeError);
  EXPECT_NO_THROW(model.add_gradients(batch, 1.0));
}

TEST(TokenLossTest, AHeadThatTheModelHasNotIsRefused) {
  TrainableModel without = dense_model({});
  TrainableModel only = dense_model({.head = ModelHead{.replaces_vocabulary = true}});
  const LmWindows windows(grouped_examples(2, 1), kSeqLen, 5);
  LmBatch batch;
  windows.append(0, batch);
  const ValueLoss loss;

  EXPECT_THROW(without.add_gradients(batch, {1.0, nullptr, &loss}), Error);
  EXPECT_THROW(only.add_gradients(batch, 1.0), Error);
  EXPECT_THROW(only.measure(batch, {}), Error);
  EXPECT_THROW(only.decoder(), Error);
}
}  // namespace
}  // namespace mgpu::lm
