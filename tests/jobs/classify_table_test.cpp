// Tests rows of job classify in its table, in the current format and in format 1.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "classify_rows.hpp"
#include "jobs/classify/job.hpp"
#include "store/chunk_values.hpp"

namespace mgpu::jobs {
namespace {

using rows::RowStatus;
using test::Keys;
using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kRows =
    "{\"text\": \"abc\", \"label\": \"no\", \"id\": 5}\n{\"text\": \"de\", \"label\": \"yes\"}\n"
    "{\"text\": \"f\"}\n{\"text\": \"g\"}\n{\"text\": \"h\"}\n";

class ClassifyTableTest : public testing::Test {
protected:
  ClassifyInputs inputs(Keys keys = {}) const {
    keys.emplace("classify.labels", "[no, yes]");
    const Config config = made_.config("classify", keys);
    return read_classify_inputs(config, read_classify_config(config));
  }

  /// Returns a chunk of four rows with different outcomes. Its first row is row 1 of the table.
  static store::test::ChunkValues chunk(const ClassifyInputs& inputs) {
    GivenLabel unknown;
    unknown.output = "hm";
    unknown.rationale = "because";
    unknown.output_tokens = 2;
    const std::vector<ClassifySample> samples = {
        test::sample_of("abc", 0, {RowStatus::ok, "", {"5"}}),
        test::sample_of("de", 1, {RowStatus::truncated, "9 tokens", {"6"}}),
        test::sample_of("f", -1, {RowStatus::ok, "", {"7"}}),
        test::sample_of("", 1, {RowStatus::bad_row, "an empty line", {}})};
    const std::vector<GivenLabel> given = {
        test::given_of(-1, -3), test::given_of(-4, -2), unknown, {}};
    return {classify_table(inputs), classify_rows(inputs, 1, samples, given)};
  }

  const test::MadeInputs made_{kRows};
};

TEST_F(ClassifyTableTest, TrueAndFoundLabelsAreIndicesAndNames) {
  const auto chunk = this->chunk(inputs());

  EXPECT_EQ(chunk.first_row(), 1);
  EXPECT_EQ(chunk.spec().rows, 5);
  EXPECT_THAT(chunk.numbers<std::int32_t>("true"), ElementsAre(0, 1, -1, 1));
  EXPECT_THAT(chunk.numbers<std::int32_t>("pred"), ElementsAre(0, 1, -1, -1));
  EXPECT_THAT(chunk.texts("true_label"), ElementsAre("no", "yes", "", "yes"));
  EXPECT_THAT(chunk.texts("predicted_label"), ElementsAre("no", "yes", "unknown", "error"));
}

TEST_F(ClassifyTableTest, ScoresAreThoseOfTheLabels) {
  const auto chunk = this->chunk(inputs());

  EXPECT_THAT(chunk.numbers<double>("score"), ElementsAre(-1, -2, 0, 0));
  EXPECT_THAT(chunk.numbers<double>("margin"), ElementsAre(2, 2, 0, 0));
  const auto positive = chunk.numbers<double>("positive");
  EXPECT_NEAR(positive[0], 1.0 / (1.0 + std::exp(2.0)), 1e-12);
  EXPECT_NEAR(positive[1], 1.0 / (1.0 + std::exp(-2.0)), 1e-12);
  EXPECT_THAT(chunk.numbers<double>("confidence")[0], DoubleNear(1.0 - positive[0], 1e-12));
  EXPECT_THAT(chunk.lists<double>("label_scores"),
              ElementsAre(ElementsAre(-1, -3), ElementsAre(-4, -2), IsEmpty(), IsEmpty()));
}

TEST_F(ClassifyTableTest, TextsOfTheRowAreCopied) {
  const auto chunk = this->chunk(inputs());

  EXPECT_THAT(chunk.texts("input_text"), ElementsAre("abc", "de", "f", ""));
  EXPECT_THAT(chunk.texts("target_group_norm"), ElementsAre("ga", "gd", "gf", "g"));
  EXPECT_THAT(chunk.texts("persona_tag"), testing::Each("p"));
  EXPECT_THAT(chunk.texts("source_dataset"), testing::Each("s"));
  EXPECT_THAT(chunk.texts("strategy"), testing::Each("default"));
  EXPECT_THAT(chunk.texts("rationale"), ElementsAre("", "", "because", ""));
  EXPECT_THAT(chunk.numbers<std::int32_t>("n_prompt_tokens"), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(chunk.numbers<std::int32_t>("n_output_tokens"), ElementsAre(0, 0, 2, 0));
}

TEST_F(ClassifyTableTest, StatusReasonAndKeptColumnsAreThoseOfTheRow) {
  const auto chunk = this->chunk(inputs());

  EXPECT_THAT(chunk.numbers<std::uint8_t>("status"), ElementsAre(0, 1, 0, 3));
  EXPECT_THAT(chunk.texts("reason"), ElementsAre("", "9 tokens", "", "an empty line"));
  EXPECT_THAT(chunk.texts("row_id"), ElementsAre("5", "6", "7", ""));
  EXPECT_THAT(store::test::names_of(chunk.spec()), Not(Contains("row_label")));
}

TEST_F(ClassifyTableTest, GeneratedAnswersAreKeptInsteadOfScores) {
  const auto chunk = this->chunk(inputs({{"classify.score", "generate"}}));

  EXPECT_THAT(chunk.texts("output"), ElementsAre("no", "yes", "hm", ""));
  EXPECT_THAT(store::test::names_of(chunk.spec()), Not(Contains("label_scores")));
}

TEST_F(ClassifyTableTest, AnOutcomeIsTheStatusUnlessTheAnswerNamesNoLabel) {
  EXPECT_EQ(outcome_of(RowStatus::ok, 0), "ok");
  EXPECT_EQ(outcome_of(RowStatus::truncated, 1), "truncated");
  EXPECT_EQ(outcome_of(RowStatus::ok, -1), "unknown");
  EXPECT_EQ(outcome_of(RowStatus::truncated, -1), "unknown");
  EXPECT_EQ(outcome_of(RowStatus::too_long, -1), "too_long");
  EXPECT_EQ(outcome_of(RowStatus::bad_row, -1), "bad_row");
}

/// Returns a chunk of five rows in format 1. Each row has another outcome.
std::vector<std::byte> old_chunk(const store::TableSpec& table) {
  store::TableSpec old{"samples", table.rows, {}, "", ""};
  for (const char* name :
       {"true",        "pred",           "outcome",         "score",           "margin",
        "positive",    "confidence",     "n_prompt_tokens", "n_output_tokens", "strategy",
        "input_text",  "true_label",     "predicted_label", "rationale",       "target_group_norm",
        "persona_tag", "source_dataset", "status",          "reason",          "label_scores"}) {
    const std::string column = name;
    if (column == "outcome") {
      old.columns.push_back({"outcome", store::ColumnType::u8, 1, "", ""});
    } else if (column == "status") {
      old.columns.push_back({"status", store::ColumnType::text, 1, "", ""});
    } else {
      old.columns.push_back(table.columns[table.column_index(column)]);
    }
  }
  store::ChunkEncoder encoder(old, 0, 5);
  for (const char* name : {"true", "pred", "n_prompt_tokens", "n_output_tokens"})
    encoder.column<std::int32_t>(name, std::vector<std::int32_t>{0, 1, -1, -1, -1});
  encoder.column<std::uint8_t>("outcome", std::vector<std::uint8_t>{0, 1, 2, 3, 4});
  for (const char* name : {"score", "margin", "positive", "confidence"})
    encoder.column<double>(name, std::vector<double>{1, 2, 3, 4, 5});
  for (const char* name :
       {"strategy", "input_text", "true_label", "predicted_label", "rationale", "target_group_norm",
        "persona_tag", "source_dataset", "status", "reason"})
    encoder.text(name, std::vector<std::string>{name, "b", "c", "d", "e"});
  encoder.lists<double>("label_scores",
                        std::vector<std::vector<double>>{{1, 2}, {}, {}, {}, {3, 4}});
  return encoder.finish();
}

TEST_F(ClassifyTableTest, ChunksOfFormat1BecomeThoseOfNow) {
  const Keys keys = {{"classify.labels", "[no, yes]"}, {"output.keep_columns", "[]"}};
  const Config config = made_.config("classify", keys);
  const store::TableSpec table = classify_table(inputs(keys));

  const store::test::ChunkValues chunk(table, read_job(config)->upgrade_chunks()(old_chunk(table)));

  EXPECT_THAT(chunk.numbers<std::uint8_t>("status"),
              ElementsAre(0, 1, 0, 2, 3));  // outcome `unknown` becomes status `ok`
  EXPECT_THAT(chunk.texts("reason"), ElementsAre("reason", "b", "c", "d", "e"));
  EXPECT_THAT(chunk.texts("input_text").front(), "input_text");
  EXPECT_THAT(chunk.numbers<std::int32_t>("pred"), ElementsAre(0, 1, -1, -1, -1));
  EXPECT_THAT(chunk.numbers<double>("confidence"), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(chunk.lists<double>("label_scores").back(), ElementsAre(3, 4));
  EXPECT_THAT(store::test::names_of(chunk.spec()), Not(Contains("outcome")));
}

TEST_F(ClassifyTableTest, InputsThatMakeOtherPromptsHaveAnotherPhase) {
  made_.write("one.txt", "Say {text}");
  made_.write("two.txt", "Tell {text}");
  const std::uint32_t own = inputs().phase;
  const std::uint32_t one = inputs({{"classify.prompt", made_.folder() / "one.txt"}}).phase;
  EXPECT_NE(own, one);
  EXPECT_NE(inputs({{"classify.prompt", made_.folder() / "two.txt"}}).phase, one);
  EXPECT_EQ(inputs({{"classify.labels", "[a, b]"}}).phase, own);  // labels are a key, not a file
}

TEST_F(ClassifyTableTest, ADemandHasRoomForTheLabels) {
  const Keys keys = {{"data.max_length", "20"}};
  const auto scoring = inputs(keys).demand(DeviceKind::cpu);
  EXPECT_TRUE(scoring.is_scoring);
  EXPECT_EQ(scoring.batch_size, 5);  // the number of rows
  EXPECT_EQ(scoring.longest, 20 + 2 + 3 + 2 * scoring.page_tokens);
  const auto answers =
      inputs(
          {{"data.max_length", "20"}, {"classify.score", "generate"}, {"classify.batch_size", "2"}})
          .demand(DeviceKind::cpu);
  EXPECT_FALSE(answers.is_scoring);
  EXPECT_EQ(answers.batch_size, 2);
  EXPECT_EQ(answers.longest, 20 + 16);
}

}  // namespace
}  // namespace mgpu::jobs
