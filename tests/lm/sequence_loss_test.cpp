#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "dense_llama.hpp"
#include "example_losses.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kItems = 8;
constexpr std::int64_t kSeqLen = 16;

using Passes = std::vector<std::int64_t>;  // items of each

struct StepResult {
  double loss = 0.0;
  double accuracy = 0.0;
  std::int64_t terms = 0;
};

/// Runs one step over the first items of the training, split into passes.
StepResult run_step(TrainableModel& model, const LmExamples& examples, const TokenLoss& loss,
                    const Passes& passes) {
  const LmWindows windows(examples, kSeqLen, 5);
  WindowItems items(windows);
  PhaseClock clock;
  LmObjective objective(model, items, loss, clock);
  std::uint64_t first = 0;
  objective.survey()->clear();
  for (const std::int64_t count : passes) {
    objective.survey()->measure(first, count);
    first += static_cast<std::uint64_t>(count);
  }
  objective.survey()->read({objective.survey()->result()});
  StepResult result;
  result.terms = objective.predictions(0, kItems);
  const auto terms = static_cast<double>(result.terms);
  first = 0;
  for (const std::int64_t count : passes) {
    const train::PassSums sums = objective.add_gradients(first, count, 1.0 / terms);
    result.loss += sums.loss / terms;
    result.accuracy += static_cast<double>(sums.correct) / terms;
    first += static_cast<std::uint64_t>(count);
  }
  return result;
}

/// The ids and the index of an example.
struct Sequence {
  std::vector<std::int64_t> ids;
  std::size_t example;
};
std::vector<Sequence> items_of(const LmExamples& examples) {
  const LmWindows windows(examples, kSeqLen, 5);
  std::vector<Sequence> sequences;
  for (std::uint64_t item = 0; item < kItems; ++item)
    for (const std::size_t example : windows.examples_of(windows.window_at(item))) {
      const auto begin = examples.ids.begin() + examples.begin(example);
      sequences.push_back({{begin, begin + examples.length(example)}, example});
    }
  return sequences;
}

/// Returns the log-probabilities of the tokens after the prompt of two tokens.
at::Tensor completion_of(const DenseLlama& dense, const Sequence& sequence, double t = 1.0) {
  const at::Tensor log_probs = dense.log_probs(sequence.ids, t);
  return log_probs.narrow(0, 1, log_probs.size(0) - 1);
}

/// Returns the DPO loss by the formula of its paper (see DpoLoss), for autograd.
at::Tensor dense_dpo(const DenseLlama& dense, const LmExamples& examples, double beta, double t) {
  const auto& reference = examples.sequence_columns.at("reference");
  const std::vector<Sequence> items = items_of(examples);
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const auto ratio = [&](const Sequence& sequence) {
      return completion_of(dense, sequence, t).sum() - reference[sequence.example];
    };
    sum = sum - (beta * (ratio(items[i]) - ratio(items[i + 1]))).sigmoid().log();
  }
  return sum / (static_cast<double>(items.size()) / 2.0);
}

TEST(SequenceLossTest, DpoHasTheLossAndTheGradientOfAutograd) {
  const LmExamples examples = grouped_examples(12, 2);
  for (const double t : {1.0, 0.7}) {
    TrainableModel model = dense_model({.dtype = DType::f64});
    const DenseLlama dense(model);

    const StepResult result = run_step(model, examples, DpoLoss(0.3, t), {3, 5});

    const at::Tensor expected = dense_dpo(dense, examples, 0.3, t);
    EXPECT_NEAR(result.loss, expected.item<double>(), 1e-10);
    EXPECT_EQ(result.terms, kItems / 2);
    expect_gradients(model, dense.gradients(expected));
  }
}

at::Tensor dense_group_loss(const DenseLlama& dense, const LmExamples& examples,
                            std::size_t members) {
  const auto& rewards = examples.sequence_columns.at("reward");
  const auto& old = examples.token_columns.at("old");
  const std::vector<Sequence> items = items_of(examples);
  double batch_mean = 0.0;
  for (const Sequence& item : items)
    batch_mean += rewards[item.example] / static_cast<double>(items.size());
  at::Tensor sum = at::zeros({}, at::kDouble);
  double tokens = 0.0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    double mean = 0.0;
    for (std::size_t m = i / members * members; m < (i / members + 1) * members; ++m)
      mean += rewards[items[m].example] / static_cast<double>(members);
    const double advantage = rewards[items[i].example] - 0.5 * (mean + batch_mean);
    const at::Tensor log_probs = completion_of(dense, items[i]);
    const auto first = old.begin() + examples.begin(items[i].example) + 1;
    const at::Tensor before =
        at::tensor(std::vector<double>(first, first + log_probs.size(0)), at::kDouble);
    const at::Tensor ratio = (log_probs - before).exp();
    sum = sum - at::minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).sum();
    tokens += static_cast<double>(log_probs.size(0));
  }
  return sum / tokens;
}

TEST(SequenceLossTest, GroupsInAnyPassesHaveTheGradientOfAutograd) {
  const LmExamples examples = grouped_examples(16, 4);
  for (const Passes& passes : {Passes{8}, Passes{3, 5}, Passes{1, 1, 1, 1, 1, 1, 1, 1}}) {
    TrainableModel model = dense_model({.dtype = DType::f64});
    const DenseLlama dense(model);

    const StepResult result = run_step(model, examples, GroupLoss(), passes);

    const at::Tensor expected = dense_group_loss(dense, examples, 4);
    EXPECT_NEAR(result.loss, expected.item<double>(), 1e-10);
    expect_gradients(model, dense.gradients(expected));
  }
}

TEST(SequenceLossTest, PackedSequencesAreGroupsOfTheirOwn) {
  const LmExamples examples = grouped_examples(24, 1);
  TrainableModel model = dense_model({.dtype = DType::f64});
  const DenseLlama dense(model);
  ASSERT_GT(items_of(examples).size(), static_cast<std::size_t>(kItems));

  const StepResult result = run_step(model, examples, GroupLoss(), {3, 5});

  const at::Tensor expected = dense_group_loss(dense, examples, 1);
  EXPECT_NEAR(result.loss, expected.item<double>(), 1e-10);
  expect_gradients(model, dense.gradients(expected));
}

TEST(SequenceLossTest, APairLossTrainsAHeadOfItsOwnAndTheModelBelow) {
  const LmExamples examples = grouped_examples(12, 2);
  TrainableModel model =
      dense_model({.dtype = DType::f64, .head = ModelHead{.replaces_vocabulary = true}});
  const DenseLlama dense(model);

  const StepResult result = run_step(model, examples, PairLoss(), {3, 5});

  at::Tensor expected = at::zeros({}, at::kDouble);
  double right = 0.0;
  const std::vector<Sequence> items = items_of(examples);
  const auto score = [&](const Sequence& sequence) {
    return dense.hidden(sequence.ids)[std::ssize(sequence.ids) - 1].dot(
        dense.weight("score.weight")[0]);
  };
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const at::Tensor margin = score(items[i]) - score(items[i + 1]);
    expected = expected - margin.sigmoid().log() / 4.0;
    right += margin.item<double>() > 0.0 ? 0.25 : 0.0;
  }
  EXPECT_NEAR(result.loss, expected.item<double>(), 1e-10);
  EXPECT_EQ(result.accuracy, right);
  expect_gradients(model, dense.gradients(expected));
}

TEST(SequenceLossTest, LogProbabilitiesHaveTheBitsOfInference) {
  const LmExamples examples = grouped_examples(8, 4);
  const LmWindows windows(examples, kSeqLen, 5);
  const TrainableModel model = dense_model({});
  const LanguageModel inference = model.decoder();
  LmBatch batch;
  for (std::size_t w = 0; w < windows.size(); ++w)
    windows.append(w, batch);
  const at::Tensor targets = at::tensor(batch.targets);
  const at::Tensor learned = (targets != kernels::kIgnoreTarget).nonzero().squeeze(1);
  const HeadResult head =
      apply_head(inference, inference.hidden(batch.spans).index_select(0, learned),
                 targets.index_select(0, learned), 0);

  const TokenValues values = model.measure(batch, {});

  const at::Tensor measured = at::tensor(values.log_probs, at::kDouble);
  EXPECT_TRUE(at::equal(measured.index_select(0, learned), head.log_probs.to(at::kDouble)));
  EXPECT_EQ(measured.count_nonzero().item<std::int64_t>(), learned.size(0));
}

TEST(SequenceLossTest, ValuesAtATemperatureAreThoseOfWholeLogits) {
  const LmExamples examples = grouped_examples(4, 4);
  const LmWindows windows(examples, kSeqLen, 5);
  const TrainableModel model = dense_model({.dtype = DType::f64, .head = ModelHead{.outputs = 3}});
  const DenseLlama dense(model);
  LmBatch batch;
  windows.append(2, batch);
  const std::vector<std::int64_t> ids(batch.spans[0].ids.begin(), batch.spans[0].ids.end());

  const TokenValues values =
      model.measure(batch, {.entropies = true, .temperature = 0.6, .head_rows = HeadRows::learned});

  const at::Tensor hidden = dense.hidden(ids);
  const at::Tensor all = (hidden.matmul(dense.weight("lm_head.weight").t()) / 0.6).log_softmax(1);
  const at::Tensor scores = hidden.matmul(dense.weight("score.weight").t());
  ASSERT_EQ(values.head.size(), 3 * (ids.size() - 2));
  EXPECT_EQ(values.log_probs.front(), 0.0);
  for (std::size_t t = 1; t + 1 < ids.size(); ++t) {
    const at::Tensor row = all[static_cast<std::int64_t>(t)];
    EXPECT_NEAR(values.log_probs[t], row[ids[t + 1]].item<double>(), 1e-12);
    EXPECT_NEAR(values.entropies[t], -(row.exp() * row).sum().item<double>(), 1e-11);
    EXPECT_NEAR(values.head[3 * (t - 1) + 2],
                scores[static_cast<std::int64_t>(t)][2].item<double>(), 1e-12);
  }
}

TEST(SequenceLossTest, AFrozenCopyMeasuresTheSameAndKeepsItsWeights) {
  const LmExamples examples = grouped_examples(4, 4);
  const LmWindows windows(examples, kSeqLen, 5);
  const TrainableModel model = dense_model({});
  LmBatch batch;
  windows.append(1, batch);
  const ValueRequest heated{.temperature = 0.7, .plain_log_probs = true};

  const TrainableModel copy = model.frozen_copy();

  const TokenValues values = model.measure(batch, heated);
  EXPECT_EQ(values.plain_log_probs, model.measure(batch, {}).log_probs);
  EXPECT_NE(values.plain_log_probs, values.log_probs);
  EXPECT_EQ(copy.measure(batch, heated).log_probs, values.log_probs);
  EXPECT_EQ(copy.parameters().gradients().numel(), 0);
  const at::NoGradGuard no_grad;
  at::Tensor(model.parameters().weights()).mul_(0.5);
  EXPECT_NE(model.measure(batch, heated).log_probs, values.log_probs);
  EXPECT_EQ(copy.measure(batch, heated).log_probs, values.log_probs);
}

/// Returns the message of the exception, or "".
template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SequenceLossTest, AColumnThatIsMissingIsNamedWithThoseThatAreThere) {
  LmExamples examples = grouped_examples(8, 2);
  examples.sequence_columns.erase("reference");
  TrainableModel model = dense_model({});

  const std::string refusal =
      refusal_of([&] { run_step(model, examples, DpoLoss(0.1), {kItems}); });

  EXPECT_THAT(refusal, testing::HasSubstr("no column `reference`"));
  EXPECT_THAT(refusal, testing::HasSubstr("`reward`"));
}

TEST(SequenceLossTest, AGroupThatIsNotWholeIsRefused) {
  TrainableModel model = dense_model({});

  const std::string refusal = refusal_of([&] {
    run_step(model, grouped_examples(12, 4), GroupLoss(), {4, 2});
  });

  EXPECT_THAT(refusal, testing::HasSubstr("a group has 2 of its 4 sequences"));
}

TEST(SequenceLossTest, ItemsThatWereNotMeasuredAreRefused) {
  TrainableModel model = dense_model({});
  const LmWindows windows(grouped_examples(8, 2), kSeqLen, 5);
  WindowItems items(windows);
  PhaseClock clock;
  const DpoLoss loss(0.1);
  LmObjective objective(model, items, loss, clock);
  objective.survey()->clear();
  objective.survey()->measure(0, 4);
  objective.survey()->read({objective.survey()->result()});

  EXPECT_THROW(objective.add_gradients(4, 4, 1.0), Error);
  EXPECT_THROW(objective.add_gradients(0, 2, 1.0), Error);
  EXPECT_NO_THROW(objective.add_gradients(0, 4, 1.0));
}

}  // namespace
}  // namespace mgpu::lm
