// Compares the losses of recipe value with those of PyTorch in float64, and with exact numbers.
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/safetensors.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

#include "golden_file.hpp"
#include "recipes/value/loss.hpp"

namespace mgpu::recipes {
namespace {

using lm::ValueHead;
using lm::ValueKind;
using testing::DoubleNear;
using testing::Pointwise;

constexpr ValueHead kBernoulli{};
constexpr ValueHead kExpectation{.kind = ValueKind::expectation};
constexpr ValueHead kHistogram{
    .kind = ValueKind::histogram, .outputs = 11, .lowest = -1.0, .highest = 3.0};

struct Case {
  const char* name;
  ValueHead head;
  ValueLossKind kind;
};

/// The tensors of a case of tests/oracle/value_goldens.py.
class Golden {
public:
  explicit Golden(std::string name) : name_(std::move(name)) {}

  template <class T = double>
  std::vector<T> values(const std::string& what) const {
    const formats::StoredTensor* tensor = file_.find(name_ + "." + what);
    if (tensor == nullptr) throw Error("no golden `" + what + "`");
    std::vector<T> values(tensor->bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
    return values;
  }

private:
  formats::SafetensorsFile file_{golden_file("value")};
  std::string name_;
};

/// The sequences of a golden as a batch. Token t of a sequence is learned if mask[t] is set, so
/// that token t - 1 has a target.
struct Batch {
  Batch(const Golden& golden, const Case& of) {
    const auto outputs = golden.values("outputs");
    const auto log_probs = golden.values("log_probs");
    mask = golden.values<std::int64_t>("mask");
    labels = golden.values("labels");
    width = static_cast<std::size_t>(of.head.outputs);
    tokens = mask.size() / labels.size();
    ids.assign(tokens, 1);
    for (std::size_t s = 0; s < labels.size(); ++s) {
      batch.spans.push_back({std::span<const std::int64_t>(ids)});
      batch.groups.push_back(of.kind == ValueLossKind::bradley_terry ? s / 2 : s);
      batch.sequence_columns[kReturnColumn].push_back(labels[s]);
      for (std::size_t t = 0; t < tokens; ++t) {
        const bool predicts = t + 1 < tokens && mask[s * tokens + t + 1] != 0;
        batch.targets.push_back(predicts ? 1 : kernels::kIgnoreTarget);
        values.log_probs.push_back(predicts ? log_probs[s * tokens + t + 1] : 0.0);
        if (mask[s * tokens + t] == 0) continue;
        const auto first = outputs.begin() + static_cast<std::ptrdiff_t>((s * tokens + t) * width);
        values.head.insert(values.head.end(), first, first + static_cast<std::ptrdiff_t>(width));
      }
    }
  }

  std::size_t width = 0;
  std::size_t tokens = 0;
  std::vector<std::int64_t> mask;
  std::vector<double> labels;
  std::vector<std::int64_t> ids;
  lm::LmBatch batch;
  lm::TokenValues values;
};

/// The results of a loss on a batch, with gradients in the places of the goldens.
struct Weighed {
  double loss = 0.0;
  double accuracy = 0.0;
  std::vector<double> gradient;
  std::vector<double> log_prob_gradient;
  std::vector<double> digest;
};

Weighed weigh(const ValueLoss& loss, const Batch& of) {
  const auto sequences = lm::sequences_of(of.batch, of.values, loss.request());
  std::vector<lm::SequenceFacts> facts;
  std::vector<std::size_t> rows;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    facts.push_back({static_cast<std::size_t>(of.batch.groups[s]), s, sequences[s].predictions(),
                     loss.facts(sequences[s])});
    rows.push_back(s);
  }
  const lm::SequenceTable table(std::move(facts));
  Weighed weighed;
  weighed.digest = loss.digest(table);
  const lm::BatchSlopes slopes = lm::weigh_all(loss, sequences, table, weighed.digest, rows);
  const auto terms = static_cast<double>(loss.terms(table));
  weighed.loss = slopes.sums.loss / terms;
  weighed.accuracy = static_cast<double>(slopes.sums.correct) / terms;
  weighed.gradient.resize(of.mask.size() * of.width);
  weighed.log_prob_gradient.resize(of.mask.size());
  std::size_t row = 0;
  for (std::size_t place = 0; place < of.mask.size(); ++place) {
    if (of.mask[place] == 0) continue;
    for (std::size_t o = 0; o < of.width; ++o)
      weighed.gradient[place * of.width + o] = slopes.head[row * of.width + o] / terms;
    ++row;
    if (!slopes.log_probs.empty())
      weighed.log_prob_gradient[place] = slopes.log_probs[place - 1] / terms;
  }
  return weighed;
}

class ValueLossTest : public testing::TestWithParam<Case> {};

TEST_P(ValueLossTest, LossAndGradientsAreThoseOfPyTorch) {
  const Golden golden(GetParam().name);
  const double weight = golden.values("weight")[0];
  const ValueLoss loss({GetParam().head, GetParam().kind, false, weight});

  const Weighed mine = weigh(loss, Batch(golden, GetParam()));

  EXPECT_NEAR(mine.loss, golden.values("loss")[0], 1e-12);
  EXPECT_THAT(mine.gradient, Pointwise(DoubleNear(1e-12), golden.values("gradient")));
  EXPECT_THAT(mine.log_prob_gradient,
              Pointwise(DoubleNear(1e-12), golden.values("log_prob_gradient")));
  EXPECT_EQ(mine.digest.size(),
            ValueLoss::reported_values({GetParam().head, GetParam().kind}).size());
}

INSTANTIATE_TEST_SUITE_P(
    All, ValueLossTest,
    testing::Values(Case{"bce", kBernoulli, ValueLossKind::bce},
                    Case{"bce_lm", kBernoulli, ValueLossKind::bce},
                    Case{"mse_bernoulli", kBernoulli, ValueLossKind::mse},
                    Case{"mse_expectation", kExpectation, ValueLossKind::mse},
                    Case{"mle", kHistogram, ValueLossKind::mle},
                    Case{"mle_lm", kHistogram, ValueLossKind::mle},
                    Case{"bradley_terry", kBernoulli, ValueLossKind::bradley_terry},
                    Case{"bradley_terry_lm", kExpectation, ValueLossKind::bradley_terry}),
    [](const auto& tested) { return tested.param.name; });

/// Returns the loss of a token and its derivative with respect to the first output.
std::array<double, 2> of_token(const ValueSettings& settings, double label, double output) {
  double slope = 0.0;
  const double loss =
      loss_of_token(settings, label, std::array{output}, std::span<double>(&slope, 1));
  return {loss, slope};
}

TEST(ValueLossStartTest, LossesOfEvenOddsAreKnownExactly) {
  const ValueSettings bce{kBernoulli, ValueLossKind::bce};
  EXPECT_EQ(of_token(bce, 1.0, 0.0)[0], std::log(2.0));
  EXPECT_EQ(of_token(bce, 1.0, 0.0)[1], -0.5);
  EXPECT_EQ(of_token({kBernoulli, ValueLossKind::mse}, 0.0, 0.0)[0], 0.25);
  std::array<double, 11> slopes{};
  const double uniform =
      loss_of_token({kHistogram, ValueLossKind::mle}, 3.0, std::array<double, 11>{}, slopes);
  EXPECT_NEAR(uniform, std::log(11.0), 1e-15);
  EXPECT_NEAR(slopes[10], 1.0 / 11.0 - 1.0, 1e-15);
}

TEST(ValueLossStartTest, LargeLogitsDoNotOverflow) {
  const ValueSettings bce{kBernoulli, ValueLossKind::bce};
  EXPECT_EQ(of_token(bce, 0.0, 1e4)[0], 1e4);
  EXPECT_EQ(of_token(bce, 1.0, 1e4)[0], 0.0);
  EXPECT_EQ(of_token(bce, 1.0, -1e4)[1], -1.0);
}

TEST(ValueLossReportTest, TheDigestComparesValuesWithReturns) {
  const Case bce{"bce", kBernoulli, ValueLossKind::bce};
  const Golden golden("bce");
  const Batch batch(golden, bce);
  const Weighed mine = weigh(ValueLoss({kBernoulli, ValueLossKind::bce}), batch);
  EXPECT_NEAR(mine.digest[1], 2.3 / 6.0, 1e-15);  // mean of the labels
  EXPECT_GT(mine.digest[0], 0.0);
  EXPECT_LT(mine.digest[0], 1.0);
  // The last value of each sequence is compared with one half.
  const auto outputs = golden.values("outputs");
  int right = 0;
  for (std::size_t s = 0; s < batch.labels.size(); ++s) {
    std::size_t last = 0;
    for (std::size_t t = 0; t < batch.tokens; ++t)
      if (batch.mask[s * batch.tokens + t] != 0) last = s * batch.tokens + t;
    right += (outputs[last] > 0.0) == (batch.labels[s] > 0.5) ? 1 : 0;
  }
  EXPECT_NEAR(mine.accuracy, right / 6.0, 1e-15);
}

}  // namespace
}  // namespace mgpu::recipes
