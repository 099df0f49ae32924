// Tests the Parquet files of fixtures/make_parquet.py.
#include <cstdint>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "made_file.hpp"

namespace mgpu::input {
namespace {

using testing::HasSubstr;

RowOptions fixture(const char* name) {
  RowOptions options;
  options.path = fs::path(MGPU_FIXTURES) / name;
  return options;
}

TEST(ParquetRowsTest, RowsAreFoundFromAnyPlaceOfAnyRowGroup) {
  const RowFile file = open_rows(fixture("groups.parquet"));

  ASSERT_EQ(file.rows(), 2550);
  EXPECT_THAT(file.columns(), testing::ElementsAre("text", "number"));
  EXPECT_EQ(file.crc(), crc32c(read_file(file.path())));
  for (const std::int64_t first : {0, 2549, 1099, 1100, 5, 2300}) {
    const Row row = file.read(first, 1).at(0);
    EXPECT_EQ(text_in(row, "text"), "text " + std::to_string(first));
    EXPECT_EQ(*row.object.find("number")->integer(), first);
    EXPECT_EQ(row.line, first + 1);
  }
  EXPECT_EQ(file.read(1000, 1500).back().id, 2499);
}

TEST(ParquetRowsTest, ValuesKeepTheirKind) {
  RowOptions options = fixture("values.parquet");
  options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(options);

  EXPECT_TRUE(*rows[0].object.find("flag")->flag());
  EXPECT_EQ(*rows[0].object.find("small")->integer(), -3);
  EXPECT_EQ(text_in(rows[0], "large"), "18446744073709551615");
  EXPECT_EQ(*rows[0].object.find("real")->real(), 0.5);
  EXPECT_EQ(*rows[0].object.find("half")->real(), 0.25);
  EXPECT_EQ(text_in(rows[0], "bytes"), "h\xC3\xA9");
  EXPECT_EQ(rows[1].problem, "a text of it is not UTF-8");
}

TEST(ParquetRowsTest, ArrowsOpenSslAndSimdjsonDoNotMeetThoseOfTheProgram) {
  open_rows(fixture("groups.parquet"));
  MadeFile made("data.jsonl", "{\"a\": \"x\"}\n{\"a\": \"x\"}\n");
  made.options.columns = {{"id", "a"}};

  EXPECT_THAT(refusal(made.options), HasSubstr("jsonl:2: its `id` is that of line 1"));
}

TEST(ParquetRowsTest, AFileOfPandasHasTextsMessagesTokensAndWhatIsMissing) {
  RowOptions options = fixture("pandas.parquet");
  options.columns = {{"text", "body"}};
  options.one_of = {"text", "messages", "token_ids"};
  options.may_have = {"label"};

  const std::vector<Row> rows = read_all(options);

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(text_in(rows[0], "text"), "hello");
  EXPECT_EQ(text_in(rows[1], "text"), "h\xC3\xA9llo \xE4\xBD\xA0\xE5\xA5\xBD");
  EXPECT_EQ(text_in(rows[0], "label"), "ham");  // a pandas category
  EXPECT_EQ(rows[2].object.find("label"), nullptr);
  EXPECT_EQ(text_in(rows[0], "day"), "2026-11-22 05:30:00.000000");
  EXPECT_TRUE(rows[1].object.find("score")->is_null());
}

TEST(ParquetRowsTest, MessagesAndTokensAreLists) {
  RowOptions options = fixture("pandas.parquet");
  options.columns = {{"messages", "chat"}};
  options.one_of = {"messages"};
  options.all_of = {"token_ids"};
  options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(options);

  const formats::JsonValue& first = rows[0].object.find("messages")->list()->at(0);
  EXPECT_EQ(*first.find("role")->text(), "user");
  EXPECT_EQ(*first.find("content")->text(), "hi");
  EXPECT_EQ(*rows[0].object.find("token_ids")->list()->at(1).integer(), 2);
  EXPECT_EQ(rows[1].problem, "it has no `messages`");
  EXPECT_EQ(rows[2].problem, "`token_ids` is not a list of ids");
}

TEST(ParquetRowsTest, WhatIsNoParquetIsRefused) {
  const MadeFile made("data.parquet", "PAR1 and nothing else that it needs PAR1");
  EXPECT_THAT(refusal(made.options), HasSubstr("error[E532]: a Parquet file cannot be read"));

  const std::string whole = read_file(fixture("groups.parquet").path);
  const MadeFile cut("data.parquet", whole.substr(0, whole.size() / 2));
  EXPECT_THAT(refusal(cut.options), HasSubstr("error[E532]: a Parquet file cannot be read"));

  std::string damaged = whole;
  damaged.replace(damaged.size() / 4, 400, 400, 'x');
  EXPECT_THAT(refusal(MadeFile("data.parquet", damaged).options),
              HasSubstr("error[E532]: a Parquet file cannot be read"));
}

}  // namespace
}  // namespace mgpu::input
