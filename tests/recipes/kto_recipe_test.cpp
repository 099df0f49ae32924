// Compares the losses of recipe kto with those of TRL, and tests its examples.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

#include "golden_file.hpp"
#include "golden_tensors.hpp"
#include "recipes/kto/loss.hpp"
#include "recipes/kto/method.hpp"
#include "recipes/lm/examples.hpp"
#include "recipes/lm/reference.hpp"
#include "support/project_folder.hpp"

namespace mgpu::recipes {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

/// The sequences of the goldens as a batch. With a KL estimate, each row is followed by the same
/// prompt with another completion.
struct JudgedBatch {
  JudgedBatch(const GoldenTensors& goldens, const std::string& name, bool has_kl) {
    const auto mask = goldens.values<std::int64_t>("mask");
    const auto reference = goldens.values<double>("reference");
    const auto ratios = goldens.values<double>("kl_ratios");
    const auto labels = goldens.values<double>(name + ".labels");
    const double sign = goldens.values<double>(name + ".settings")[3];
    rows = labels.size();
    tokens = mask.size() / rows;
    ids.assign(tokens, 1);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::vector<std::uint8_t> learned(mask.begin() + offset(row),
                                              mask.begin() + offset(row + 1));
      add(goldens.values<double>("log_probs"), row, learned);
      batch.sequence_columns[kReferenceColumn].push_back(reference[row]);
      batch.sequence_columns[kLabelColumn].push_back(labels[row]);
      if (!has_kl) continue;
      const double log_prob = add(goldens.values<double>("kl_log_probs"), row, learned);
      batch.sequence_columns[kReferenceColumn].push_back(log_prob - sign * ratios[row]);
      batch.sequence_columns[kLabelColumn].push_back(labels[row]);
    }
  }

  std::ptrdiff_t offset(std::size_t row) const { return static_cast<std::ptrdiff_t>(row * tokens); }

  /// Adds the sequence of a row. Returns the sum of its log-probabilities.
  double add(const std::vector<double>& log_probs, std::size_t row,
             const std::vector<std::uint8_t>& learned) {
    double sum = 0.0;
    batch.spans.push_back({std::span<const std::int64_t>(ids)});
    batch.groups.push_back(row);
    for (std::size_t t = 0; t < tokens; ++t) {
      const bool is_learned = t + 1 < tokens && learned[t + 1] != 0;
      batch.targets.push_back(is_learned ? 1 : kernels::kIgnoreTarget);
      values.log_probs.push_back(is_learned ? log_probs[row * (tokens - 1) + t] : 0.0);
      sum += values.log_probs.back();
    }
    return sum;
  }

  std::size_t rows = 0;
  std::size_t tokens = 0;
  std::vector<std::int64_t> ids;
  lm::LmBatch batch;
  lm::TokenValues values;
};

class KtoLossTest : public testing::TestWithParam<const char*> {
protected:
  GoldenTensors goldens_{golden_file("kto")};
};

TEST_P(KtoLossTest, LossGradientAndMetricsAreThoseOfTrl) {
  const std::string name = GetParam();
  const auto numbers = goldens_.values<double>(name + ".settings");
  const KtoSettings settings{name == "apo" ? KtoKind::apo_zero_unpaired : KtoKind::kto, numbers[0],
                             numbers[1], numbers[2]};
  const JudgedBatch of(goldens_, name, settings.has_kl());

  const WeighedBatch mine = weigh_batch(KtoLoss(settings), of.batch, of.values);

  std::vector<double> gradient;
  const std::size_t members = settings.has_kl() ? 2 : 1;
  for (std::size_t row = 0; row < of.rows; ++row)
    for (std::size_t t = 0; t < members * of.tokens; ++t) {
      const std::size_t place = row * members * of.tokens + t;
      const bool is_target = of.batch.targets[place] != kernels::kIgnoreTarget;
      if (t + 1 < of.tokens) gradient.push_back(is_target ? mine.slopes.log_probs[place] : 0.0);
      const bool is_of_estimate = t >= of.tokens;
      EXPECT_TRUE(!is_of_estimate || mine.slopes.log_probs[place] == 0.0);
    }
  EXPECT_NEAR(mine.loss, goldens_.values<double>(name + ".loss")[0], 1e-9);
  EXPECT_THAT(gradient, Pointwise(DoubleNear(1e-9), goldens_.values<double>(name + ".gradient")));
  const auto metrics = goldens_.values<double>(name + ".metrics");
  ASSERT_EQ(mine.digest.size(), metrics.size());
  EXPECT_EQ(mine.digest.size(), KtoLoss::reported_values().size());
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    if (std::isnan(metrics[m])) {
      EXPECT_TRUE(std::isnan(mine.digest[m])) << m;
    } else {
      EXPECT_NEAR(mine.digest[m], metrics[m], 1e-6) << m;  // TRL's KL is a float32
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, KtoLossTest,
                         testing::Values("kto", "kto_weights", "kto_no_kl", "kto_all_good", "apo"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(KtoLossStartTest, LossesOfTheReferenceItselfAreHalfTheirWeights) {
  const KtoSettings settings{KtoKind::kto, 0.1, 1.5, 0.5};
  EXPECT_EQ(loss_of_judged(settings, true, 0.0, 0.0).loss, 0.75);
  EXPECT_EQ(loss_of_judged(settings, false, 0.0, 0.0).loss, 0.25);
  EXPECT_EQ(loss_of_judged(settings, true, 0.0, 0.0).slope, -1.5 * 0.1 / 4.0);
  EXPECT_EQ(loss_of_judged(settings, false, 0.0, 0.0).slope, 0.5 * 0.1 / 4.0);
  EXPECT_EQ(loss_of_judged(settings, true, -1e5, 0.0).loss, 1.5);
  EXPECT_EQ(loss_of_judged(settings, true, 1e5, 0.0).loss, 0.0);
}

/// Encodes rows with the tokenizer of the example model.
class KtoExamplesTest : public testing::Test {
protected:
  lm::LmExamples encode(const std::vector<std::string>& rows, const KtoSettings& settings = {}) {
    const KtoMethod method(settings);
    lm::LmExamples all;
    all.group_size = method.group_size();
    for (const std::string& row : rows) {
      lm::LmExamples of_row;
      method.encode(formats::parse_json_object(row), RowUse::training, encoder_, of_row);
      for (std::size_t i = 0; i < of_row.ids.size(); ++i) {
        all.ids.push_back(of_row.ids[i]);
        all.is_learned.push_back(of_row.is_learned[i]);
      }
      all.ends.push_back(std::ssize(all.ids));
      all.sequence_columns[kLabelColumn].push_back(of_row.sequence_columns[kLabelColumn][0]);
    }
    method.complete(kSeqLen, RowUse::training, all);
    return all;
  }

  std::string text(const lm::LmExamples& examples, std::size_t example) const {
    const auto first = examples.ids.begin() + examples.begin(example);
    return folder_.tokenizer.decode(
        std::vector<text::TokenId>(first, first + examples.length(example)), true);
  }

  std::string reason(const std::string& row) {
    try {
      encode({row});
    } catch (const formats::JsonError& error) {
      return error.why();
    } catch (const Failure& failure) {
      return failure.report().code;
    }
    return "";
  }

  static constexpr std::int64_t kSeqLen = 24;
  text::TextFolder folder_ = text::parse_text_folder(
      text::read_text_files(testing_support::tiny_lm()), testing_support::tiny_lm());
  ExampleEncoder encoder_{folder_, kSeqLen, {.vocab = 528, .folder = testing_support::tiny_lm()}};
};

const std::vector<std::string> kRows = {
    R"({"prompt": "Who?", "completion": " Mia.", "label": true})",
    R"({"prompt": "Where?", "completion": " Here.", "label": 0})",
    R"({"prompt": "When?", "completion": " Now.", "label": "True"})"};

TEST_F(KtoExamplesTest, EachRowIsFollowedByTheCompletionOfTheRowBefore) {
  const lm::LmExamples examples = encode(kRows);

  ASSERT_EQ(examples.size(), 6U);
  EXPECT_EQ(examples.group_size, 2);
  EXPECT_EQ(text(examples, 0), "Who? Mia.");
  EXPECT_EQ(text(examples, 1), "Who? Now.");
  EXPECT_EQ(text(examples, 2), "Where? Here.");
  EXPECT_EQ(text(examples, 3), "Where? Mia.");
  EXPECT_EQ(text(examples, 5), "When? Here.");
  EXPECT_THAT(examples.sequence_columns.at(kLabelColumn), ElementsAre(1, 1, 0, 0, 1, 1));
  for (std::size_t row = 0; row < 3; ++row)
    EXPECT_EQ(examples.prompt_length(2 * row), examples.prompt_length(2 * row + 1));
}

TEST_F(KtoExamplesTest, TheOtherCompletionIsCutToTheRoom) {
  std::vector<std::string> rows = kRows;
  rows[2] = R"({"prompt": "?", "completion": " Now and then and now and then.", "label": true})";

  const lm::LmExamples examples = encode(rows);

  for (std::size_t example = 0; example < examples.size(); ++example)
    EXPECT_LE(examples.length(example), kSeqLen);
  EXPECT_GT(examples.predictions(1), 0);
}

TEST_F(KtoExamplesTest, WithoutAnEstimateRowsAreAlone) {
  const lm::LmExamples examples = encode(kRows, {.kind = KtoKind::apo_zero_unpaired});
  EXPECT_EQ(examples.size(), 3U);
  EXPECT_EQ(examples.group_size, 1);
  EXPECT_EQ(text(examples, 1), "Where? Here.");
}

TEST_F(KtoExamplesTest, RowsThatCannotBeUsedAreNamed) {
  EXPECT_EQ(reason(R"({"prompt": "a", "completion": " b"})"), "it has no `label`");
  EXPECT_EQ(reason(R"({"prompt": "a", "completion": " b", "label": 2})"),
            "`label` is neither true nor false");
  EXPECT_EQ(reason(R"({"prompt": "a", "completion": " b", "label": "good"})"),
            "`label` is neither true nor false");
  EXPECT_EQ(reason(R"({"prompt": "a", "completion": "", "label": true})"),
            "its completion is empty");
  EXPECT_THAT(
      reason(
          R"({"prompt": "a", "completion": [{"role": "assistant", "content": "b"}], "label": 1})"),
      HasSubstr("`prompt` is none"));
  EXPECT_EQ(reason(kRows[0]), "E531");  // one row has no other completion
}

}  // namespace
}  // namespace mgpu::recipes
