// Tests rows of job generate in its table, in the current format and in format 1.
#include <cmath>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/generate/inputs.hpp"
#include "jobs/generate/job.hpp"
#include "jobs/generate/table.hpp"
#include "made_inputs.hpp"
#include "store/chunk_values.hpp"

namespace mgpu::jobs {
namespace {

using rows::RowStatus;
using rows::test::ids_of;
using test::Keys;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatEq;
using testing::IsEmpty;

constexpr const char* kRows =
    "{\"prompt\": \"ab\", \"id\": \"first\"}\n{\"prompt\": \"c\", \"id\": \"second\"}\n"
    "{\"prompt\": \"d\"}\n";

lm::Completion completion(const std::string& text, lm::FinishReason reason) {
  lm::Completion made{ids_of(text), {}, reason};
  for (std::size_t i = 0; i < text.size(); ++i)
    made.log_probs.push_back(-0.5F * static_cast<float>(i + 1));
  return made;
}

class GenerateTableTest : public testing::Test {
protected:
  GenerateInputs inputs(Keys keys = {}) {
    keys.emplace("generate.num_samples", "2");
    keys.emplace("generate.do_sample", "true");
    const Config config = made_.config("generate", keys);
    return read_generate_inputs(config, read_generate_keys(config));
  }

  /// Returns the chunk of these prompts. The first one is prompt 1 of the table.
  static store::test::ChunkValues chunk(const GenerateInputs& inputs,
                                        const std::vector<rows::EncodedPrompt>& prompts,
                                        const std::vector<CompletedPrompt>& completed) {
    const rows::PromptEncoder encoder = inputs.encoder();
    return {completion_table(inputs), completion_rows(inputs, 1, prompts, completed, encoder)};
  }

  static store::test::ChunkValues good_chunk(const GenerateInputs& inputs) {
    CompletedPrompt done{
        {{-1.0F, -2.0F},
         {completion("xy", lm::FinishReason::length), completion("z", lm::FinishReason::stop_text)},
         {}},
        {RowStatus::ok, "", {"second"}}};
    return chunk(inputs, {{"abc", ids_of("abc"), {}}}, {done});
  }

  const test::MadeInputs made_{kRows};
};

TEST_F(GenerateTableTest, ARowPerPromptAndCompletion) {
  const GenerateInputs inputs = this->inputs();
  const auto chunk = good_chunk(inputs);

  EXPECT_EQ(inputs.prompts(), 3);
  EXPECT_EQ(chunk.spec().rows, 6);
  EXPECT_EQ(chunk.first_row(), 2);  // prompt 1; each prompt has two completions
  EXPECT_THAT(chunk.numbers<std::int64_t>("prompt_index"), ElementsAre(1, 1));
  EXPECT_THAT(chunk.numbers<std::int32_t>("sample"), ElementsAre(0, 1));
  EXPECT_THAT(chunk.numbers<std::int32_t>("n_prompt_tokens"), ElementsAre(3, 3));
  EXPECT_THAT(chunk.numbers<std::int32_t>("n_output_tokens"), ElementsAre(2, 1));
}

TEST_F(GenerateTableTest, TokensTextsAndLogProbsAreThoseOfTheCompletion) {
  const auto chunk = good_chunk(inputs());

  EXPECT_THAT(chunk.lists<std::int32_t>("prompt_ids")[1], ElementsAre(0, 1, 2));
  EXPECT_THAT(chunk.lists<std::int32_t>("output_ids"),
              ElementsAre(ElementsAre(23, 24), ElementsAre(25)));
  EXPECT_THAT(chunk.texts("prompt"), ElementsAre("abc", "abc"));
  EXPECT_THAT(chunk.texts("output"), ElementsAre("xy", "z"));
  EXPECT_THAT(chunk.lists<float>("output_log_probs")[0], ElementsAre(-0.5F, -1.0F));
  EXPECT_THAT(chunk.numbers<double>("output_log_prob"), ElementsAre(-1.5, -0.5));
  EXPECT_THAT(chunk.numbers<double>("prompt_log_prob"), ElementsAre(-3.0, -3.0));
}

TEST_F(GenerateTableTest, NothingPredictsTheFirstTokenOfAPrompt) {
  const auto lists = good_chunk(inputs()).lists<float>("prompt_log_probs");

  ASSERT_EQ(lists[0].size(), 3U);
  EXPECT_TRUE(std::isnan(lists[0][0]));
  EXPECT_EQ(lists[0][2], -2.0F);
}

TEST_F(GenerateTableTest, PromptsThatAreNotScoredHaveNoColumn) {
  const auto names =
      store::test::names_of(completion_table(inputs({{"generate.prompt_log_probs", "false"}})));
  EXPECT_THAT(names, testing::Not(testing::Contains("prompt_log_probs")));
  EXPECT_THAT(names, testing::Contains("prompt_log_prob"));
}

TEST_F(GenerateTableTest, EachEndOfACompletionHasItsName) {
  const GenerateInputs inputs = this->inputs({{"generate.num_samples", "4"}});
  using lm::FinishReason;
  const CompletedPrompt done{
      {{},
       {completion("a", FinishReason::stop_id), completion("a", FinishReason::stop_text),
        completion("a", FinishReason::length), completion("a", FinishReason::context)},
       {}},
      {}};
  const auto finish = chunk(inputs, {{"a", {0}, {}}}, {done}).numbers<std::uint8_t>("finish");

  std::vector<std::string> names;
  for (const std::uint8_t value : finish)
    names.emplace_back(name_of(static_cast<Finish>(value)));
  EXPECT_THAT(names, ElementsAre("stop_token", "stop_string", "length", "context"));
}

TEST_F(GenerateTableTest, APromptThatIsOnlyScoredHasOneRowWithoutOutput) {
  const GenerateInputs inputs =
      this->inputs({{"generate.max_new_tokens", "0"}, {"generate.num_samples", "1"}});
  const auto chunk =
      this->chunk(inputs, {{"ab", ids_of("ab"), {}}}, {{{{-1.0F}, {}, {}}, {RowStatus::ok, ""}}});

  EXPECT_EQ(chunk.rows(), 1);
  EXPECT_THAT(chunk.numbers<std::uint8_t>("finish"),
              ElementsAre(static_cast<std::uint8_t>(Finish::scored)));
  EXPECT_THAT(chunk.texts("output"), ElementsAre(""));
  EXPECT_THAT(chunk.lists<std::int32_t>("output_ids"), ElementsAre(IsEmpty()));
}

TEST_F(GenerateTableTest, ARowThatIsNotCompletedSaysWhy) {
  const rows::RowFacts bad{RowStatus::bad_row, "its text has no tokens", {"second"}};
  const auto chunk = this->chunk(inputs(), {{"", {}, bad}}, {{{}, bad}});

  EXPECT_THAT(chunk.numbers<std::uint8_t>("finish"), testing::Each(5));  // Finish::none
  EXPECT_THAT(chunk.numbers<std::uint8_t>("status"), testing::Each(3));
  EXPECT_THAT(chunk.texts("reason"), testing::Each("its text has no tokens"));
  EXPECT_THAT(chunk.lists<float>("prompt_log_probs"), testing::Each(IsEmpty()));
  EXPECT_THAT(chunk.numbers<double>("output_log_prob"), testing::Each(0.0));
}

TEST_F(GenerateTableTest, KeptColumnsAreThoseOfTheRow) {
  EXPECT_THAT(good_chunk(inputs()).texts("row_id"), ElementsAre("second", "second"));
  EXPECT_THAT(
      store::test::names_of(completion_table(inputs({{"output.keep_columns", "[]"}}))).back(),
      "reason");
}

TEST_F(GenerateTableTest, EncodedRowsKeepWhatTheUserSaid) {
  GenerateInputs inputs = this->inputs();
  rows::PromptEncoder encoder = inputs.encoder();
  formats::LineProblems problems(inputs.rows.path());
  const auto prompts = inputs.encode(0, 3, encoder, problems);

  EXPECT_THAT(prompts[0].ids, ElementsAreArray(ids_of("ab")));
  EXPECT_THAT(prompts[1].facts.kept, ElementsAre("second"));
  EXPECT_THAT(prompts[2].facts.kept, ElementsAre(""));
  EXPECT_EQ(problems.count(), 0);
  EXPECT_THAT(count_tokens(inputs), ElementsAre(2, 1, 1));
}

TEST_F(GenerateTableTest, RowsThatCannotBeUsedStopTheRunOrAreMarked) {
  made_.write("rows.jsonl", "{\"prompt\": \"a\"}\n{\"prompt\": \"%\"}\n");
  EXPECT_EQ(test::report_of_failure([&] { count_tokens(inputs()); }).code, "E531");
  EXPECT_THAT(count_tokens(inputs({{"data.on_bad_row", "mark"}})), ElementsAre(1, 0));
}

TEST_F(GenerateTableTest, PromptsThatAreLeftOutBecauseOfTheContextHaveNoTokens) {
  made_.write("rows.jsonl",
              "{\"prompt\": \"a\"}\n{\"prompt\": \"" + std::string(513, 'a') + "\"}\n");
  EXPECT_THAT(count_tokens(inputs()), ElementsAre(1, 513));
  EXPECT_THAT(count_tokens(inputs({{"generate.beyond_context", "mark"}})), ElementsAre(1, 0));
}

TEST_F(GenerateTableTest, ThePhaseIsThatOfRowsAndModel) {
  const std::uint32_t phase = inputs().phase;
  EXPECT_EQ(inputs().phase, phase);
  EXPECT_GE(phase, 0x80000000U);
  made_.write("rows.jsonl", std::string(kRows) + "{\"prompt\": \"e\"}\n");
  EXPECT_NE(inputs().phase, phase);
}

TEST_F(GenerateTableTest, ABatchIsNeverLargerThanAllCompletions) {
  constexpr DeviceKind kCpu = DeviceKind::cpu;
  EXPECT_EQ(inputs().demand(kCpu, 7).batch_size, 6);  // all completions of three prompts
  EXPECT_EQ(inputs({{"generate.batch_size", "3"}}).demand(kCpu, 7).batch_size, 3);
  EXPECT_EQ(inputs({{"generate.batch_size", "auto"}}).demand(kCpu, 7).batch_size, 6);
  const auto demand = inputs({{"generate.max_new_tokens", "5"}}).demand(kCpu, 7);
  EXPECT_EQ(demand.longest, 11);  // 7 + 5 - 1: the last token is not an input
  EXPECT_TRUE(demand.has_samples);
  EXPECT_FALSE(demand.is_scoring);
}

/// Returns a chunk of three rows in format 1.
std::vector<std::byte> old_chunk(const store::TableSpec& table) {
  store::TableSpec old{"samples", table.rows, {}, "", ""};
  for (const char* name : {"prompt_index", "sample", "n_prompt_tokens", "n_output_tokens", "finish",
                           "prompt_log_prob", "output_log_prob", "prompt_ids", "prompt_log_probs",
                           "output_ids", "output_log_probs", "prompt", "output", "reason"}) {
    old.columns.push_back(table.columns[table.column_index(name)]);
    old.columns.back().names.clear();
  }
  using Ids = std::vector<std::vector<std::int32_t>>;
  using Floats = std::vector<std::vector<float>>;
  store::ChunkEncoder encoder(old, 2, 3);
  encoder.column<std::int64_t>("prompt_index", std::vector<std::int64_t>{2, 3, 4});
  encoder.column<std::int32_t>("sample", std::vector<std::int32_t>{0, 0, 0});
  encoder.column<std::int32_t>("n_prompt_tokens", std::vector<std::int32_t>{2, 0, 99});
  encoder.column<std::int32_t>("n_output_tokens", std::vector<std::int32_t>{1, 0, 0});
  encoder.column<std::uint8_t>("finish", std::vector<std::uint8_t>{2, 5, 5});
  encoder.column<double>("prompt_log_prob", std::vector<double>{-1.0, 0.0, 0.0});
  encoder.column<double>("output_log_prob", std::vector<double>{-0.5, 0.0, 0.0});
  encoder.lists<std::int32_t>("prompt_ids", Ids{{0, 1}, {}, {7}});
  encoder.lists<float>("prompt_log_probs", Floats{{0.0F, -1.0F}, {}, {}});
  encoder.lists<std::int32_t>("output_ids", Ids{{2}, {}, {}});
  encoder.lists<float>("output_log_probs", Floats{{-0.5F}, {}, {}});
  encoder.text("prompt", std::vector<std::string>{"ab", "", "h"});
  encoder.text("output", std::vector<std::string>{"c", "", ""});
  encoder.text("reason", std::vector<std::string>{"length", "failed: its text has no tokens",
                                                  "failed: 99 tokens in a model of 48 positions"});
  return encoder.finish();
}

TEST_F(GenerateTableTest, ChunksOfFormat1BecomeThoseOfNow) {
  made_.write("rows.jsonl",
              "{\"prompt\": \"a\"}\n{\"prompt\": \"b\"}\n{\"prompt\": \"c\"}\n"
              "{\"prompt\": \"d\"}\n{\"prompt\": \"e\"}\n");
  const Config config = made_.config("generate");
  const store::TableSpec table =
      completion_table(read_generate_inputs(config, read_generate_keys(config)));

  const store::test::ChunkValues chunk(table, read_job(config)->upgrade_chunks()(old_chunk(table)));

  EXPECT_EQ(chunk.first_row(), 2);
  EXPECT_THAT(chunk.numbers<std::uint8_t>("status"), ElementsAre(0, 3, 2));
  EXPECT_THAT(chunk.texts("reason"),
              ElementsAre("", "its text has no tokens", "99 tokens in a model of 48 positions"));
  EXPECT_THAT(chunk.numbers<std::uint8_t>("finish"), ElementsAre(2, 5, 5));
  EXPECT_THAT(chunk.numbers<std::int64_t>("prompt_index"), ElementsAre(2, 3, 4));
  EXPECT_THAT(chunk.lists<std::int32_t>("prompt_ids")[0], ElementsAre(0, 1));
  EXPECT_THAT(chunk.texts("output"), ElementsAre("c", "", ""));
  EXPECT_THAT(chunk.lists<float>("output_log_probs")[0], ElementsAre(FloatEq(-0.5F)));
}

TEST_F(GenerateTableTest, BytesThatAreNoChunkOfFormat1AreDamage) {
  const Config config = made_.config("generate", {{"output.keep_columns", "[]"}});
  made_.write("rows.jsonl", std::string(kRows) + kRows);
  const auto upgrade = read_job(config)->upgrade_chunks();
  auto payload =
      old_chunk(completion_table(read_generate_inputs(config, read_generate_keys(config))));
  payload.resize(payload.size() - 1);
  EXPECT_EQ(test::report_of_failure([&] { upgrade(payload); }).code, "E604");
}

TEST_F(GenerateTableTest, KeptColumnsAreNotMadeOfFormat1) {
  const Config other = made_.config("generate");
  EXPECT_THROW(read_job(other)->upgrade_chunks(), Error);
}

}  // namespace
}  // namespace mgpu::jobs
