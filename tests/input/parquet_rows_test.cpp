// Parquet files, written here and by pandas.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gmock/gmock.h>
#include <parquet/arrow/writer.h>

#include <gtest/gtest.h>

#include "made_file.hpp"

namespace mgpu::input {
namespace {

using testing::HasSubstr;

void require(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <class Builder, class... Values>
std::shared_ptr<arrow::Array> array_of(const Values&... values) {
  Builder builder;
  (require(builder.Append(values)), ...);
  return builder.Finish().ValueOrDie();
}

void write_parquet(const fs::path& path, const std::shared_ptr<arrow::Table>& table,
                   std::int64_t group_rows) {
  const auto file = arrow::io::FileOutputStream::Open(path).ValueOrDie();
  require(::parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), file, group_rows));
  require(file->Close());
}

/// A table with the columns `text` and `number`.
std::shared_ptr<arrow::Table> many_rows(std::int64_t rows) {
  arrow::StringBuilder texts;
  arrow::Int64Builder numbers;
  for (std::int64_t i = 0; i < rows; ++i) {
    require(texts.Append("text " + std::to_string(i)));
    require(numbers.Append(i));
  }
  return arrow::Table::Make(
      arrow::schema({arrow::field("text", arrow::utf8()), arrow::field("number", arrow::int64())}),
      {texts.Finish().ValueOrDie(), numbers.Finish().ValueOrDie()});
}

TEST(ParquetRowsTest, RowsAreFoundFromAnyPlaceOfAnyRowGroup) {
  const MadeFile made("data.parquet", "");
  write_parquet(made.path(), many_rows(2550), 1100);

  const RowFile file = open_rows(made.options);

  ASSERT_EQ(file.rows(), 2550);
  EXPECT_THAT(file.columns(), testing::ElementsAre("text", "number"));
  EXPECT_EQ(file.crc(), crc32c(read_file(made.path())));
  for (const std::int64_t first : {0, 2549, 1099, 1100, 5, 2300}) {
    const Row row = file.read(first, 1).at(0);
    EXPECT_EQ(text_in(row, "text"), "text " + std::to_string(first));
    EXPECT_EQ(*row.object.find("number")->integer(), first);
    EXPECT_EQ(row.line, first + 1);
  }
  EXPECT_EQ(file.read(1000, 1500).back().id, 2499);
}

TEST(ParquetRowsTest, ValuesKeepTheirKind) {
  const MadeFile made("data.parquet", "");
  const auto schema =
      arrow::schema({arrow::field("flag", arrow::boolean()), arrow::field("small", arrow::int8()),
                     arrow::field("large", arrow::uint64()), arrow::field("real", arrow::float64()),
                     arrow::field("bytes", arrow::binary())});
  write_parquet(
      made.path(),
      arrow::Table::Make(schema, {array_of<arrow::BooleanBuilder>(true, false),
                                  array_of<arrow::Int8Builder>(std::int8_t{-3}, std::int8_t{4}),
                                  array_of<arrow::UInt64Builder>(UINT64_MAX, 5U),
                                  array_of<arrow::DoubleBuilder>(0.5, std::nan("")),
                                  array_of<arrow::BinaryBuilder>("h\xC3\xA9", "\xff")}),
      10);
  RowOptions options = made.options;
  options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(options);

  EXPECT_TRUE(*rows[0].object.find("flag")->flag());
  EXPECT_EQ(*rows[0].object.find("small")->integer(), -3);
  EXPECT_EQ(text_in(rows[0], "large"), "18446744073709551615");
  EXPECT_EQ(*rows[0].object.find("real")->real(), 0.5);
  EXPECT_EQ(text_in(rows[0], "bytes"), "h\xC3\xA9");
  EXPECT_EQ(rows[1].problem, "a text of it is not UTF-8");
}

TEST(ParquetRowsTest, AFileOfPandasHasTextsMessagesTokensAndWhatIsMissing) {
  RowOptions options;
  options.path = fs::path(MGPU_FIXTURES) / "pandas.parquet";
  options.columns = {{"text", "body"}};
  options.one_of = {"text", "messages", "token_ids"};
  options.may_have = {"label"};

  const std::vector<Row> rows = read_all(options);

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(text_in(rows[0], "text"), "hello");
  EXPECT_EQ(text_in(rows[1], "text"), "h\xC3\xA9llo \xE4\xBD\xA0\xE5\xA5\xBD");
  EXPECT_EQ(text_in(rows[0], "label"), "ham");  // a category of pandas
  EXPECT_EQ(rows[2].object.find("label"), nullptr);
  EXPECT_EQ(text_in(rows[0], "day"), "2026-11-22 05:30:00.000000");
  EXPECT_TRUE(rows[1].object.find("score")->is_null());
}

TEST(ParquetRowsTest, MessagesAndTokensAreLists) {
  RowOptions options;
  options.path = fs::path(MGPU_FIXTURES) / "pandas.parquet";
  options.columns = {{"messages", "chat"}};
  options.one_of = {"messages"};
  options.all_of = {"token_ids"};
  options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(options);

  const store::JsonValue& first = rows[0].object.find("messages")->list()->at(0);
  EXPECT_EQ(*first.find("role")->text(), "user");
  EXPECT_EQ(*first.find("content")->text(), "hi");
  EXPECT_EQ(*rows[0].object.find("token_ids")->list()->at(1).integer(), 2);
  EXPECT_EQ(rows[1].problem, "it has no `messages`");
  EXPECT_EQ(rows[2].problem, "`token_ids` is not a list of ids");
}

TEST(ParquetRowsTest, WhatIsNoParquetIsRefused) {
  const MadeFile made("data.parquet", "PAR1 and nothing else that it needs PAR1");
  EXPECT_THAT(refusal(made.options), HasSubstr("error[E532]: a Parquet file cannot be read"));

  const MadeFile cut("data.parquet", "");
  write_parquet(cut.path(), many_rows(1000), 100);
  cut.write(read_file(cut.path()).substr(0, 3000));
  EXPECT_THAT(refusal(cut.options), HasSubstr("error[E532]: a Parquet file cannot be read"));
}

}  // namespace
}  // namespace mgpu::input
