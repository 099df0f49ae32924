// Tests the columns that all tables have for a row of the user's data, and the problems of rows.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/line_problems.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/row_facts.hpp>
#include <mgpu/rows/row_problems.hpp>

#include "char_tokenizer.hpp"
#include "store/chunk_values.hpp"
#include "support/made_config.hpp"

namespace mgpu::rows {
namespace {

using formats::JsonError;
using formats::JsonValue;
using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::report_of_failure;

TEST(RowFactsTest, AStatusHasItsName) {
  EXPECT_STREQ(name_of(RowStatus::ok), "ok");
  EXPECT_STREQ(name_of(RowStatus::truncated), "truncated");
  EXPECT_STREQ(name_of(RowStatus::too_long), "too_long");
  EXPECT_STREQ(name_of(RowStatus::bad_row), "bad_row");
  EXPECT_THAT(names_of_row_status(), ElementsAre("ok", "truncated", "too_long", "bad_row"));
}

TEST(RowFactsTest, ATableHasAColumnForEachKeptName) {
  store::Columns<RowFacts> columns;
  add_row_columns(columns, {"id", "label"},
                  [](const RowFacts& facts) -> const RowFacts& { return facts; });
  const store::TableSpec table = columns.table("samples", 3);
  const std::vector<RowFacts> rows = {{RowStatus::ok, "", {"7", "cat"}},
                                      {RowStatus::too_long, "9 tokens", {"8", ""}},
                                      {RowStatus::bad_row, "an empty line", {}}};

  const store::test::ChunkValues chunk(table, columns.encode(table, 0, rows));

  EXPECT_THAT(store::test::names_of(table), ElementsAre("status", "reason", "row_id", "row_label"));
  EXPECT_EQ(table.columns[0].names, names_of_row_status());
  EXPECT_THAT(chunk.numbers<std::uint8_t>("status"), ElementsAre(0, 2, 3));
  EXPECT_THAT(chunk.texts("reason"), ElementsAre("", "9 tokens", "an empty line"));
  EXPECT_THAT(chunk.texts("row_id"), ElementsAre("7", "8", ""));
  EXPECT_THAT(chunk.texts("row_label"), ElementsAre("cat", "", ""));
}

TEST(RowProblemsTest, WhatIsWrongWithARowIsAText) {
  EXPECT_EQ(problem_of([] {}), "");
  EXPECT_EQ(problem_of([] { throw JsonError("it is blue"); }), "it is blue");
  for (const char* code : {"E543", "E545"})
    EXPECT_EQ(problem_of([&] {
                throw Failure({code, ExitCode::data, "no token", {}, ""});
              }),
              "no token");
}

TEST(RowProblemsTest, OtherFailuresEndTheRun) {
  EXPECT_THROW(problem_of([] { throw Failure({"E544", ExitCode::data, "", {}, ""}); }), Failure);
  EXPECT_THROW(problem_of([] { throw Error("a bug"); }), Error);
}

TEST(RowProblemsTest, ARefusedRowIsNamedByItsLine) {
  input::Row row;
  row.line = 12;

  const ErrorReport report =
      report_of_failure([&] { refuse_row("data/rows.jsonl", row, "it is blue", "paint it"); });

  EXPECT_EQ(report.code, "E531");
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_EQ(report.help, "paint it");
  ASSERT_FALSE(report.lines.empty());
  EXPECT_THAT(report.lines.front(), HasSubstr("rows.jsonl:12: it is blue"));
}

/// Parses a value as member "v" of an object, and keeps the object.
class JsonFieldsTest : public testing::Test {
protected:
  const JsonValue& value(const std::string& json) {
    object_ = formats::parse_json_object("{\"v\": " + json + "}");
    return *object_.find("v");
  }

  /// Returns the message of the JsonError that `read` throws; "" if it throws no error.
  template <class Read>
  std::string why(const std::string& json, Read read) {
    try {
      read(value(json));
    } catch (const JsonError& error) {
      return error.why();
    }
    return "";
  }

  JsonValue object_;
};

TEST_F(JsonFieldsTest, ATextIsNothingElse) {
  EXPECT_EQ(text_of(&value(R"("abc")"), "v"), "abc");
  const auto read = [](const JsonValue& json) { text_of(&json, "v"); };
  EXPECT_EQ(why("7", read), "`v` is not a text");
  EXPECT_EQ(why("null", read), "`v` is not a text");
  EXPECT_THROW(text_of(nullptr, "v"), JsonError);
}

TEST_F(JsonFieldsTest, ANullMemberIsNone) {
  value("null");
  EXPECT_EQ(member_of(object_, "v"), nullptr);
  EXPECT_EQ(member_of(object_, "w"), nullptr);
  value("0");
  EXPECT_NE(member_of(object_, "v"), nullptr);
}

TEST_F(JsonFieldsTest, TokenIdsAreWholeNumbers) {
  const auto read = [](const JsonValue& list) { return ids_of(list, "token_ids"); };
  EXPECT_THAT(read(value("[3, 0, 7]")), ElementsAre(3, 0, 7));
  for (const char* json : {"[]", "7", "\"7\"", "{}"})
    EXPECT_EQ(why(json, read), "`token_ids` is not a list of ids") << json;
  for (const char* json : {"[1.5]", "[1, \"2\"]", "[null]"})
    EXPECT_EQ(why(json, read), "`token_ids` has a value that is no id") << json;
}

TEST_F(JsonFieldsTest, MessagesHaveARoleAndAContent) {
  const auto read = [](const JsonValue& value) { return messages_of(value, "messages"); };
  const auto messages = read(value(
      R"([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho", "x": 1}])"));
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0].role, "user");
  EXPECT_EQ(messages[1].content, "ho");
  EXPECT_THAT(messages[0].others, ElementsAre());
  EXPECT_THAT(messages[1].others, ElementsAre("x"));
  const auto empty = read(value(
      R"([{"tool_calls": [], "name": null, "role": "user", "content": "hi", "thinking": ""}])"));
  EXPECT_THAT(empty[0].others, ElementsAre());
  EXPECT_EQ(why("[]", read), "`messages` is not a list of messages");
  EXPECT_EQ(why(R"([{"role": "user"}])", read), "`content` is not a text");
  EXPECT_EQ(why(R"([{"content": "hi"}])", read), "`role` is not a text");
  EXPECT_EQ(why(R"(["hi"])", read), "`role` is not a text");
}

}  // namespace
}  // namespace mgpu::rows
