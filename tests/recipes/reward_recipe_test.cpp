// Compares the loss of recipe reward with that of TRL, and tests its examples and folders.
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

#include "golden_file.hpp"
#include "golden_tensors.hpp"
#include "recipes/lm/examples.hpp"
#include "recipes/reward/loss.hpp"
#include "recipes/reward/method.hpp"
#include "support/project_folder.hpp"

namespace mgpu::recipes {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

class RewardModelLossTest : public testing::TestWithParam<const char*> {
protected:
  GoldenTensors goldens_{golden_file("reward")};
};

TEST_P(RewardModelLossTest, LossGradientAndMetricsAreThoseOfTrl) {
  const std::string name = GetParam();
  const auto settings = goldens_.values<double>(name + ".settings");
  const auto rewards = goldens_.values<double>("rewards");
  const auto margins = goldens_.values<double>("margins");
  const std::size_t pairs = margins.size();
  const std::vector<std::int64_t> ids = {1};
  lm::LmBatch batch;
  lm::TokenValues values;
  for (std::size_t s = 0; s < 2 * pairs; ++s) {  // the goldens have all chosen sequences first
    batch.spans.push_back({std::span<const std::int64_t>(ids)});
    batch.targets.push_back(kernels::kIgnoreTarget);
    batch.groups.push_back(s / 2);
    batch.sequence_columns[kMarginColumn].push_back(settings[1] * margins[s / 2]);
    values.head.push_back(rewards[s / 2 + (s % 2) * pairs]);
  }

  const WeighedBatch mine = weigh_batch(RewardModelLoss({settings[0]}), batch, values);

  std::vector<double> gradient(2 * pairs);
  for (std::size_t s = 0; s < 2 * pairs; ++s)
    gradient[s / 2 + (s % 2) * pairs] = mine.slopes.head[s];
  EXPECT_NEAR(mine.loss, goldens_.values<double>(name + ".loss")[0], 1e-12);
  EXPECT_THAT(gradient, Pointwise(DoubleNear(1e-12), goldens_.values<double>(name + ".gradient")));
  std::vector<double> metrics = goldens_.values<double>(name + ".metrics");
  EXPECT_NEAR(mine.accuracy, metrics.back(), 1e-6);  // TRL's accuracy is a float32
  metrics.pop_back();
  EXPECT_THAT(std::vector(mine.digest.begin(), mine.digest.end() - 1),
              Pointwise(DoubleNear(1e-12), metrics));
  EXPECT_EQ(mine.digest.size(), RewardModelLoss::reported_values().size());
}

INSTANTIATE_TEST_SUITE_P(All, RewardModelLossTest,
                         testing::Values("plain", "margin", "centered", "centered_margin"),
                         [](const auto& tested) { return std::string(tested.param); });

/// Encodes rows with the tokenizer of the example model, whose eos token is also the padding token.
class RewardExamplesTest : public testing::Test {
protected:
  lm::LmExamples encode(const std::string& row) {
    lm::LmExamples examples;
    method_.encode(formats::parse_json_object(row), RowUse::training, encoder_, examples);
    return examples;
  }

  std::string reason(const std::string& row) {
    try {
      encode(row);
    } catch (const formats::JsonError& error) {
      return error.why();
    }
    return "";
  }

  text::TextFolder folder_ = text::parse_text_folder(
      text::read_text_files(testing_support::tiny_lm()), testing_support::tiny_lm());
  std::int64_t padding_ = rows::padding_id(folder_);
  RewardMethod method_{RewardModelSettings{}};
  ExampleEncoder encoder_{folder_, 64, {.vocab = 4096, .folder = testing_support::tiny_lm()}};
};

TEST_F(RewardExamplesTest, PaddingAtTheEndIsLeftOutAsTransformersDoes) {
  ASSERT_EQ(padding_, folder_.eos.id);

  const lm::LmExamples examples =
      encode(R"({"prompt": "Who is it?", "chosen": " Mia.", "rejected": " Tom."})");

  ASSERT_EQ(examples.size(), 2U);
  const auto ids = folder_.tokenizer.encode("Who is it? Mia.", true);
  EXPECT_EQ(
      std::vector<std::int64_t>(examples.ids.begin(), examples.ids.begin() + examples.ends[0]),
      std::vector<std::int64_t>(ids.begin(), ids.end()));
  EXPECT_EQ(examples.is_learned.size(), examples.ids.size());
  EXPECT_THAT(examples.sequence_columns.at(kMarginColumn), ElementsAre(0.0, 0.0));
}

TEST_F(RewardExamplesTest, TextsThatRepeatThePromptNeedNone) {
  const lm::LmExamples alone = encode(R"({"chosen": "Who? Mia.", "rejected": "Who? Tom."})");
  const lm::LmExamples both =
      encode(R"({"prompt": "Who?", "chosen": " Mia.", "rejected": " Tom."})");

  EXPECT_EQ(alone.ids, both.ids);
  EXPECT_EQ(alone.ends, both.ends);
}

TEST_F(RewardExamplesTest, AMarginIsANumberOrATextOfOne) {
  const auto margins = [&](const std::string& margin) {
    return encode(R"({"prompt": "Who?", "chosen": " a", "rejected": " b", "margin": )" + margin +
                  "}")
        .sequence_columns.at(kMarginColumn);
  };
  EXPECT_THAT(margins("1.5"), ElementsAre(1.5, 1.5));
  EXPECT_THAT(margins("2"), ElementsAre(2.0, 2.0));
  EXPECT_THAT(margins("\"0.25\""), ElementsAre(0.25, 0.25));
  EXPECT_THAT(margins("null"), ElementsAre(0.0, 0.0));
  for (const char* bad : {"\"much\"", "true", "\"1x\"", "\"nan\"", "\"inf\""})
    EXPECT_EQ(reason(R"({"prompt": "", "chosen": "a", "rejected": "b", "margin": )" +
                     std::string(bad) + "}"),
              "`margin` is no number");
  const formats::JsonValue infinite(  // as a Parquet file may have it
      formats::JsonValue::Members{{"prompt", "Who?"},
                                  {"chosen", " a"},
                                  {"rejected", " b"},
                                  {"margin", std::numeric_limits<double>::infinity()}});
  lm::LmExamples examples;
  EXPECT_THROW(method_.encode(infinite, RowUse::training, encoder_, examples), formats::JsonError);
}

TEST_F(RewardExamplesTest, APairThatDiffersInPaddingOnlyIsRefused) {
  const std::string eos = folder_.eos.text;
  EXPECT_THAT(reason(R"({"prompt": "Who?", "chosen": " a", "rejected": " a)" + eos + eos + "\"}"),
              HasSubstr("differ in padding tokens only"));
  EXPECT_THAT(reason(R"({"prompt": "Who?", "chosen": " a", "rejected": " a"})"),
              HasSubstr("are equal"));
}

TEST(RewardFolderTest, ConfigNamesTheTokenThatEndsPadding) {
  const RewardMethod method{RewardModelSettings{}};

  const lm::CompanionFiles files = method.model_files(testing_support::tiny_lm());

  const formats::JsonValue config = formats::parse_json_object(files.at("config.json"));
  const text::TextFolder folder = text::parse_text_folder(
      text::read_text_files(testing_support::tiny_lm()), testing_support::tiny_lm());
  EXPECT_EQ(*config.find("pad_token_id")->integer(), folder.eos.id);
  EXPECT_EQ(config.find("id2label")->members()->size(), 1U);
}

}  // namespace
}  // namespace mgpu::recipes
