// Tests samples and rows of job teacher, in the current format and in format 1.
#include <array>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/bit_pack.hpp>

#include "jobs/teacher/inputs.hpp"
#include "jobs/teacher/job.hpp"
#include "jobs/teacher/table.hpp"
#include "made_inputs.hpp"
#include "store/chunk_values.hpp"

namespace mgpu::jobs {
namespace {

using rows::RowStatus;
using rows::test::ids_of;
using test::Keys;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kRows =
    "{\"text\": \"abc\", \"id\": 5}\n{\"prompt\": \"de\", \"completion\": \"f\", \"id\": 6}\n"
    "{\"text\": \"%\"}\n";

class TeacherSamplesTest : public testing::Test {
protected:
  TeacherInputs inputs(const Keys& keys = {}) const {
    Keys all = {{"data.on_bad_row", "mark"}};
    for (const auto& [name, value] : keys)
      all[name] = value;
    const Config config = made_.config("teacher", all);
    return read_teacher_inputs(config, read_teacher_config(config));
  }

  std::vector<TeacherSample> samples(const Keys& keys = {}) const {
    return samples_of(this->inputs(keys));
  }

  static std::vector<TeacherSample> samples_of(const TeacherInputs& inputs) {
    TeacherEncoder encoder = inputs.encoder();
    std::vector<TeacherSample> samples;
    for (const input::Row& row : inputs.rows.read(0, inputs.rows.rows()))
      samples.push_back(encoder.encode(row, "rows.jsonl"));
    return samples;
  }

  const test::MadeInputs made_{kRows};
};

TEST_F(TeacherSamplesTest, ATextHasNoEndOfItsOwnACompletionHas) {
  const auto samples = this->samples();

  EXPECT_THAT(samples[0].text.ids, ElementsAreArray(ids_of("abc")));
  EXPECT_THAT(samples[0].text.is_learned, ElementsAre(1, 1, 1));
  EXPECT_EQ(samples[0].all_tokens, 3);
  EXPECT_THAT(samples[1].text.ids, ElementsAre(3, 4, 5, rows::test::kEndId));
  EXPECT_THAT(samples[1].text.is_learned, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(samples[1].facts.kept, ElementsAre("6"));
}

TEST_F(TeacherSamplesTest, ARowThatCannotBeUsedIsMarkedOrEndsTheRun) {
  const auto samples = this->samples();
  EXPECT_EQ(samples[2].facts.status, RowStatus::bad_row);
  EXPECT_THAT(samples[2].facts.reason, HasSubstr("token"));
  EXPECT_THAT(samples[2].text.ids, IsEmpty());
  EXPECT_EQ(samples[2].all_tokens, 0);
  const ErrorReport report = test::report_of_failure([&] {
    this->samples({{"data.on_bad_row", "stop"}});
  });
  EXPECT_EQ(report.code, "E531");
  EXPECT_THAT(report.lines.front(), HasSubstr(":3: "));
}

TEST_F(TeacherSamplesTest, LongSamplesAreCutAtTheirEnd) {
  const auto samples = this->samples({{"data.max_length", "3"}});
  EXPECT_EQ(samples[0].facts.status, RowStatus::ok);
  EXPECT_EQ(samples[1].facts.status, RowStatus::truncated);
  EXPECT_EQ(samples[1].facts.reason, "4 tokens, data.max_length is 3");
  EXPECT_THAT(samples[1].text.ids, ElementsAre(3, 4, 5));
  EXPECT_THAT(samples[1].text.is_learned, ElementsAre(0, 0, 1));
  EXPECT_EQ(samples[1].all_tokens, 4);
}

TEST_F(TeacherSamplesTest, TheReasonOfACutNamesTheModelIfItsPositionsLimitTheLength) {
  TeacherInputs inputs = this->inputs();
  inputs.model.rope.kind = lm::RopeKind::none;
  inputs.model.max_positions = 3;
  EXPECT_EQ(samples_of(inputs)[1].facts.reason,
            "4 tokens, the number of the model's positions is 3");
  inputs.config.length.too_long = rows::TooLong::error;
  const ErrorReport report = test::report_of_failure([&] { samples_of(inputs); });
  EXPECT_EQ(report.help, "data.too_long=truncate or drop");
}

TEST_F(TeacherSamplesTest, LongSamplesAreDroppedOrEndTheRunWhereTheKeySaysSo) {
  const auto samples = this->samples({{"data.max_length", "3"}, {"data.too_long", "drop"}});
  EXPECT_EQ(samples[1].facts.status, RowStatus::too_long);
  EXPECT_THAT(samples[1].text.ids, IsEmpty());
  EXPECT_EQ(samples[1].all_tokens, 4);
  EXPECT_EQ(test::report_of_failure([&] {
              this->samples({{"data.max_length", "3"}, {"data.too_long", "error"}});
            }).code,
            "E531");
}

TEST_F(TeacherSamplesTest, ADemandIsThatOfABatch) {
  const Keys keys = {{"data.max_length", "20"}, {"teacher.batch_size", "2"}};
  EXPECT_EQ(inputs(keys).demand(DeviceKind::cpu).batch_size, 2);
  EXPECT_EQ(inputs(keys).demand(DeviceKind::cpu).longest, 20);
  EXPECT_TRUE(inputs(keys).demand(DeviceKind::cpu).is_scoring);
  EXPECT_EQ(inputs({{"teacher.batch_size", "auto"}}).demand(DeviceKind::cpu).batch_size, 3);
}

/// Returns the targets of two tokens. For each token they have the two most probable ids, and
/// draws.
TokenTargets two_tokens() {
  TokenTargets targets;
  targets.log_sums = {1.5F, 2.5F};
  targets.ids = {7, 3, 63, 0};
  for (const float value : {-0.5F, -1.0F, -0.25F, -2.0F})
    targets.log_probs.push_back(Half::of(value));
  targets.tail_mass = {0.125F, 0.25F};
  targets.num_drawn = {2, 1};
  targets.drawn_ids = {3, 7, 63};
  targets.drawn_counts = {1, 2, 3};
  return targets;
}

class TeacherTableTest : public TeacherSamplesTest {
protected:
  /// Returns a chunk of two samples. The first one is sample 1 of the table, and the second one was
  /// left out.
  store::test::ChunkValues chunk(Keys keys) const {
    if (!keys.contains("teacher.targets")) keys.emplace("teacher.top_k", "2");
    const TeacherInputs inputs = this->inputs(keys);
    const TeacherSample sample{{{3, 4}, {0, 1}}, 9, {RowStatus::truncated, "9 tokens", {"5"}}};
    const TeacherSample bad{{}, 0, {RowStatus::bad_row, "empty", {}}};
    const std::vector<TeacherSample> samples = {sample, bad};
    const std::vector<TokenTargets> targets = {two_tokens(), {}};
    return {
        teacher_table(inputs.rows.rows(), inputs.config, inputs.model.vocab, inputs.kept.names()),
        teacher_rows(inputs, 1, samples, targets)};
  }

  const Keys draws_ = {{"teacher.targets", "random_sampling"}, {"teacher.num_draws", "3"}};
};

TEST_F(TeacherTableTest, TokensAndFactsAreThoseOfTheSample) {
  const auto chunk = this->chunk({});

  EXPECT_EQ(chunk.first_row(), 1);
  EXPECT_THAT(chunk.numbers<std::int32_t>("n_tokens"), ElementsAre(2, 0));
  EXPECT_THAT(chunk.numbers<std::int64_t>("all_tokens"), ElementsAre(9, 0));
  EXPECT_THAT(chunk.lists<std::int32_t>("token_ids"), ElementsAre(ElementsAre(3, 4), IsEmpty()));
  EXPECT_THAT(chunk.lists<std::uint8_t>("is_learned")[0], ElementsAre(0, 1));
  EXPECT_THAT(chunk.numbers<std::uint8_t>("status"), ElementsAre(1, 3));
  EXPECT_THAT(chunk.texts("reason"), ElementsAre("9 tokens", "empty"));
  EXPECT_THAT(chunk.texts("row_id"), ElementsAre("5", ""));
}

// Three of the 528 ids are drawn. A packed one takes 10 bits of id and 2 bits of count.
TEST_F(TeacherTableTest, BytesOfDrawnTokensAreThoseOfTheirEncoding) {
  EXPECT_DOUBLE_EQ(drawn_bytes(inputs(draws_).config, 528), 3.0 * (4 + 1));
  Keys packed = draws_;
  packed["teacher.store"] = "packed";
  EXPECT_DOUBLE_EQ(drawn_bytes(inputs(packed).config, 528), 3.0 * 12.0 / 8.0);
  EXPECT_DOUBLE_EQ(drawn_bytes(inputs(draws_).config, 2), 2.0 * (4 + 1));
}

TEST_F(TeacherTableTest, TheMostProbableTokensAreListsOfTheirNumber) {
  const auto chunk = this->chunk({});

  EXPECT_EQ(chunk.spec().columns[chunk.spec().column_index("topk_ids")].width, 2);
  EXPECT_THAT(chunk.lists<std::uint32_t>("topk_ids")[0], ElementsAre(7, 3, 63, 0));
  EXPECT_THAT(chunk.lists<float>("tail_mass")[0], ElementsAre(0.125F, 0.25F));
  EXPECT_THAT(chunk.lists<float>("log_sum_exp")[0], ElementsAre(1.5F, 2.5F));
  std::vector<float> values;
  const auto log_probs = chunk.lists<Half>("topk_logprobs");
  for (const Half value : log_probs[0])
    values.push_back(value.value());
  EXPECT_THAT(values, ElementsAre(-0.5F, -1.0F, -0.25F, -2.0F));
}

TEST_F(TeacherTableTest, PackedIdsTakeTheBitsOfTheVocabulary) {
  const auto chunk = this->chunk({{"teacher.store", "packed"}});
  const auto packed = chunk.lists<std::uint8_t>("topk_packed")[0];

  ASSERT_EQ(packed.size(), 4U);  // the two 6-bit ids of a token take two bytes
  EXPECT_THAT(formats::unpack_bits(std::span(packed).first(2), 6, 2), ElementsAre(7, 3));
  EXPECT_THAT(formats::unpack_bits(std::span(packed).last(2), 6, 2), ElementsAre(63, 0));
  EXPECT_THAT(store::test::names_of(chunk.spec()), Not(Contains("tail_mass")));
}

TEST_F(TeacherTableTest, DrawsAreIdsWithTheirCounts) {
  const auto chunk = this->chunk(draws_);

  EXPECT_THAT(chunk.lists<std::uint8_t>("num_drawn")[0], ElementsAre(2, 1));
  EXPECT_THAT(chunk.lists<std::uint32_t>("drawn_ids")[0], ElementsAre(3, 7, 63));
  EXPECT_THAT(chunk.lists<std::uint8_t>("drawn_counts")[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(store::test::names_of(chunk.spec()), Not(Contains("topk_ids")));
}

TEST_F(TeacherTableTest, PackedDrawsAreOneStreamOfIdAndCount) {
  Keys keys = draws_;
  keys["teacher.store"] = "packed";
  const auto packed = this->chunk(keys).lists<std::uint8_t>("drawn_packed")[0];

  ASSERT_EQ(packed.size(), 3U);  // three words of 6 + 2 bits
  EXPECT_THAT(formats::unpack_bits(packed, 8, 3), ElementsAre(3 | 1 << 6, 7 | 2 << 6, 63 | 3 << 6));
}

TEST_F(TeacherTableTest, BytesOfATokenAreThoseOfItsColumns) {
  TeacherConfig config;
  config.top_k = 2;
  EXPECT_EQ(target_bytes(config, 64), 4 + 2 * 4 + 4 + 2 * 2);  // sum, ids, tail, log-probabilities
  config.is_packed = true;
  EXPECT_EQ(target_bytes(config, 64), 4 + 2 + 2 * 2);
  config.top_k = 64;
  EXPECT_EQ(target_bytes(config, 128256), 268);  // docs/teacher.md shows these two sizes
  EXPECT_EQ(target_bytes(config, 151936), 276);
  config.top_k = 1000;
  EXPECT_EQ(target_bytes(config, 64), 4 + 48 + 64 * 2);  // all 64 tokens of the vocabulary
  config.has_draws = true;
  EXPECT_EQ(target_bytes(config, 64), 0);
}

/// Returns a chunk of one sample in format 1, which orders the columns differently.
std::vector<std::byte> old_chunk(const store::TableSpec& table) {
  store::TableSpec old{"samples", table.rows, {}, "", ""};
  for (const char* name : {"n_tokens", "all_tokens", "status", "reason", "token_ids", "is_learned",
                           "log_sum_exp", "topk_ids", "tail_mass", "topk_logprobs"}) {
    old.columns.push_back(table.columns[table.column_index(name)]);
    old.columns.back().names.clear();
  }
  const TokenTargets targets = two_tokens();
  store::ChunkEncoder encoder(old, 2, 1);
  encoder.column<std::int32_t>("n_tokens", std::vector<std::int32_t>{2});
  encoder.column<std::int64_t>("all_tokens", std::vector<std::int64_t>{9});
  encoder.column<std::uint8_t>("status", std::vector<std::uint8_t>{1});
  encoder.text("reason", std::vector<std::string>{"9 tokens"});
  encoder.lists<std::int32_t>("token_ids", std::vector<std::vector<std::int32_t>>{{3, 4}});
  encoder.lists<std::uint8_t>("is_learned", std::vector<std::vector<std::uint8_t>>{{0, 1}});
  encoder.lists<float>("log_sum_exp", std::array{targets.log_sums});
  encoder.lists<std::uint32_t>("topk_ids", std::array{targets.ids});
  encoder.lists<float>("tail_mass", std::array{targets.tail_mass});
  encoder.lists<Half>("topk_logprobs", std::array{targets.log_probs});
  return encoder.finish();
}

TEST_F(TeacherTableTest, ChunksOfFormat1BecomeThoseOfNow) {
  const Keys keys = {{"teacher.top_k", "2"}, {"output.keep_columns", "[]"}};
  const Config config = made_.config("teacher", keys);
  const TeacherInputs inputs = this->inputs(keys);
  const store::TableSpec table = teacher_table(3, inputs.config, inputs.model.vocab);

  const store::test::ChunkValues chunk(table, read_job(config)->upgrade_chunks()(old_chunk(table)));

  EXPECT_EQ(chunk.first_row(), 2);
  EXPECT_THAT(chunk.numbers<std::uint8_t>("status"), ElementsAre(1));
  EXPECT_THAT(chunk.texts("reason"), ElementsAre("9 tokens"));
  EXPECT_THAT(chunk.lists<std::uint32_t>("topk_ids")[0], ElementsAre(7, 3, 63, 0));
  EXPECT_THAT(chunk.lists<std::int32_t>("token_ids")[0], ElementsAre(3, 4));
  EXPECT_THAT(store::test::names_of(chunk.spec()).back(), "reason");
}

}  // namespace
}  // namespace mgpu::jobs
