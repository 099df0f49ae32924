// Tests tables with commas and tabs.
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "made_file.hpp"

namespace mgpu::input {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::string& text) {
  return refusal(MadeFile("data.csv", text).options);
}

TEST(CsvRowsTest, CellsAreReadAsRfc4180HasThem) {
  const MadeFile made("data.csv",
                      "\xEF\xBB\xBFtext,label\r\n"
                      "\"a \"\"b\"\", c\",1\r\n"
                      "\"two\nlines\",\"\"\n"
                      "plain,\n"
                      " spaced ,x");

  const std::vector<Row> rows = read_all(made.options);

  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(text_in(rows[0], "text"), "a \"b\", c");
  EXPECT_EQ(text_in(rows[0], "label"), "1");
  EXPECT_EQ(text_in(rows[1], "text"), "two\nlines");
  EXPECT_EQ(text_in(rows[1], "label"), "");
  EXPECT_EQ(rows[1].line, 3);
  EXPECT_TRUE(rows[2].object.find("label")->is_null());
  EXPECT_EQ(rows[2].line, 5);
  EXPECT_EQ(text_in(rows[3], "text"), " spaced ");
}

TEST(CsvRowsTest, NamesTheLineOfEachMistake) {
  const std::string good = "a,b\n1,2\n";
  EXPECT_THAT(refusal_of(""), HasSubstr("data.csv:1: the file is empty"));
  EXPECT_THAT(refusal_of(good + "1\n"),
              HasSubstr("data.csv:3: it has 1 cells, but there are 2 columns"));
  EXPECT_THAT(refusal_of(good + "1,2,3\n"), HasSubstr("data.csv:3: it has 3 cells"));
  EXPECT_THAT(refusal_of(good + "\n1,2\n"), HasSubstr("data.csv:3: it is an empty line"));
  EXPECT_THAT(refusal_of(good + "\"1,2\n3,4\n"),
              HasSubstr("data.csv:3: a quote is opened and never closed"));
  EXPECT_THAT(refusal_of(good + "\"1\"x,2\n"),
              HasSubstr("data.csv:3: characters follow a closing quote"));
  EXPECT_THAT(refusal_of(good + "say \"x\",2\n"),
              HasSubstr("data.csv:3: a quote stands inside of a cell"));
  EXPECT_THAT(refusal_of(good + "1,\xff\n"), HasSubstr("data.csv:3: byte 3 of it is not UTF-8"));
}

TEST(CsvRowsTest, AFileWithoutRowsOrWithANameTwiceIsRefused) {
  EXPECT_THAT(refusal_of("a,b\n"), HasSubstr("error[E532]: a data file has no rows"));
  EXPECT_THAT(refusal_of("a,a\n1,2\n"), HasSubstr("two columns are called `a`"));
  EXPECT_THAT(refusal_of("a,\"b\n1,2\n"), HasSubstr("the first line of a table cannot be used"));
}

TEST(CsvRowsTest, TabsSeparateAndQuotesMayBeCharacters) {
  MadeFile made("data.tsv", "ham\tsay \"hi\", you\nspam\t\"free\r\n");
  made.options.has_header = false;
  made.options.has_quotes = false;
  made.options.columns = {{"label", "1"}, {"text", "2"}};
  made.options.one_of = {"text"};
  made.options.all_of = {"label"};

  const std::vector<Row> rows = read_all(made.options);

  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(text_in(rows[0], "label"), "ham");
  EXPECT_EQ(text_in(rows[0], "text"), "say \"hi\", you");
  EXPECT_EQ(rows[0].line, 1);
  EXPECT_EQ(text_in(rows[1], "text"), "\"free");
}

TEST(CsvRowsTest, NulIsKept) {
  const MadeFile made("data.csv", std::string("a,b\nx\0y,2\n", 10));

  EXPECT_EQ(text_in(read_all(made.options).at(0), "a"), std::string("x\0y", 3));
}

TEST(CsvRowsTest, ListsAreWrittenAsJson) {
  MadeFile made("data.csv", "token_ids\n\"[1, 2, 3]\"\n[4]\n\"[1], \"\"x\"\": [2]\"\n[-1]\n[]\n\n");
  made.options.one_of = {"token_ids"};
  made.options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(made.options);

  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0].object.find("token_ids")->list()->size(), 3U);
  EXPECT_EQ(*rows[1].object.find("token_ids")->list()->at(0).integer(), 4);
  EXPECT_THAT(rows[2].problem, HasSubstr("`token_ids` is not JSON: it is not one JSON value"));
  EXPECT_EQ(rows[3].problem, "`token_ids` has a value that is no id");
  EXPECT_EQ(rows[4].problem, "`token_ids` is not a list of ids");
  EXPECT_EQ(rows[5].problem, "it is an empty line");
}

TEST(CsvRowsTest, RowsOverSeveralLinesAreFoundFromAnyPlace) {
  std::string text = "a,b\n";
  for (int i = 0; i < 500; ++i)
    text += "\"x\n" + std::string(static_cast<std::size_t>(i % 89) * 20, 'y') + "\"," +
            std::to_string(i) + "\n";
  const MadeFile made("data.csv", text);
  const RowFile file = open_rows(made.options);

  ASSERT_EQ(file.rows(), 500);
  for (const std::int64_t first : {499, 0, 31, 32, 250}) {
    const Row row = file.read(first, 1).at(0);
    EXPECT_EQ(text_in(row, "b"), std::to_string(first));
    EXPECT_EQ(row.line, 2 + 2 * first);
  }
}

}  // namespace
}  // namespace mgpu::input
