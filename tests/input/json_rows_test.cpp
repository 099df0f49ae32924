// Tests JSON Lines and lists of objects: invalid input, and unusual input that is valid.
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "made_file.hpp"

namespace mgpu::input {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refusal_of_lines(const std::string& text) {
  return refusal(MadeFile("data.jsonl", text).options);
}

std::string refusal_of_list(const std::string& text) {
  return refusal(MadeFile("data.json", text).options);
}

TEST(JsonRowsTest, LinesComeWithAnyLineEndAndWithoutTheLast) {
  const MadeFile made("data.ndjson",
                      "\xEF\xBB\xBF{\"a\": \"x\"}\r\n{\"a\": \"y\"}\n{\"a\": \"z\"}");

  const std::vector<Row> rows = read_all(made.options);

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(text_in(rows[0], "a"), "x");
  EXPECT_EQ(text_in(rows[2], "a"), "z");
  EXPECT_EQ(rows[2].id, 2);
  EXPECT_EQ(rows[2].line, 3);
  EXPECT_EQ(rows[2].problem, "");
}

TEST(JsonRowsTest, NamesTheLineOfEachMistake) {
  const std::string good = "{\"a\": 1}\n";
  EXPECT_THAT(refusal_of_lines(""), HasSubstr("data.jsonl:1: the file is empty"));
  EXPECT_THAT(refusal_of_lines(good + "\n" + good), HasSubstr("jsonl:2: it is an empty line"));
  EXPECT_THAT(refusal_of_lines(good + "7"), HasSubstr("jsonl:2: it is not a JSON object"));
  EXPECT_THAT(refusal_of_lines(good + good + "{\"a\""), HasSubstr("jsonl:3: "));
  EXPECT_THAT(refusal_of_lines(good + "{\"a\": \"\xff\"}"), HasSubstr("jsonl:2: "));
  EXPECT_THAT(refusal_of_lines(good + "{\"a\": \"\\ud800\"}"), HasSubstr("jsonl:2: "));
  EXPECT_THAT(refusal_of_lines(good + "{\"a\": " + std::string(100000, '[')),
              HasSubstr("jsonl:2: "));
  EXPECT_THAT(refusal_of_lines(good + "{\"a\": 1e400}"), HasSubstr("jsonl:2: "));
  EXPECT_THAT(refusal_of_lines("{\"a\": 1, \"a\": 2}"), HasSubstr("`a` comes twice"));
}

TEST(JsonRowsTest, ALineAboveTheLimitIsAProblemAndItsNeighborsAreRead) {
  MadeFile made("data.jsonl", "{\"a\": \"x\"}\n{\"a\": \"" + std::string(17 << 20, 'x') +
                                  "\"}\n{\"a\": \"y\"}\n");
  EXPECT_THAT(refusal(made.options), HasSubstr("data.jsonl:2: it is longer than 16 MiB"));

  made.options.on_bad_row = BadRow::mark;
  const std::vector<Row> rows = read_all(made.options);

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].problem, "it is longer than 16 MiB");
  EXPECT_EQ(text_in(rows[2], "a"), "y");
  EXPECT_EQ(rows[2].line, 3);
}

TEST(JsonRowsTest, MarkedRowsStayInTheirPlace) {
  MadeFile made("data.jsonl", "{\"text\": \"a\"}\n{\"text\": 1}\nnonsense\n{\"text\": \"d\"}\n");
  made.options.on_bad_row = BadRow::mark;
  made.options.one_of = {"text"};

  const std::vector<Row> rows = read_all(made.options);

  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0].problem, "");
  EXPECT_EQ(rows[1].problem, "`text` is not a text");
  EXPECT_NE(rows[2].problem, "");
  EXPECT_TRUE(rows[2].object.is_null());
  EXPECT_EQ(text_in(rows[3], "text"), "d");
}

TEST(JsonRowsTest, LargeIntegersAreKeptAsTheirDigits) {
  const MadeFile made("data.jsonl",
                      "{\"a\": 123456789012345678901234567890, \"b\": -9223372036854775809, "
                      "\"c\": 9223372036854775807, \"d\": \"12345678901234567890\", "
                      "\"e\": [18446744073709551615], \"f\": 12345678901234567890.5, "
                      "\"g\": \"\\\"12345678901234567890\"}");

  const formats::JsonValue row = read_all(made.options).at(0).object;

  EXPECT_EQ(*row.find("a")->text(), "123456789012345678901234567890");
  EXPECT_EQ(*row.find("b")->text(), "-9223372036854775809");
  EXPECT_EQ(*row.find("c")->integer(), INT64_MAX);
  EXPECT_EQ(*row.find("d")->text(), "12345678901234567890");
  EXPECT_EQ(*row.find("e")->list()->at(0).text(), "18446744073709551615");
  EXPECT_DOUBLE_EQ(*row.find("f")->real(), 12345678901234567890.5);
  EXPECT_EQ(*row.find("g")->text(), "\"12345678901234567890");
}

TEST(JsonRowsTest, NulAndEscapesOfTerminalsAreKeptInTextsAndHarmlessInMessages) {
  const MadeFile made("data.jsonl", "{\"a\": \"x\\u0000\\u001b[31m\"}\n");
  EXPECT_EQ(text_in(read_all(made.options).at(0), "a"), std::string("x\0\x1b[31m", 7));

  MadeFile wrong("data.jsonl", "{\"\\u001b[31m\": 1}\n");
  wrong.options.columns = {{"text", "a"}};
  EXPECT_THAT(refusal(wrong.options), Not(HasSubstr("\x1b")));
}

TEST(JsonRowsTest, AListOfObjectsIsReadItemByItem) {
  const MadeFile made("data.json",
                      "\n [ {\"a\": \"x, [\\\"]\"},\n{\"a\":\n \"y\"}\n,{\"a\": \"z\"} ]\n\n");

  const std::vector<Row> rows = read_all(made.options);

  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(text_in(rows[0], "a"), "x, [\"]");
  EXPECT_EQ(rows[0].line, 2);
  EXPECT_EQ(text_in(rows[1], "a"), "y");
  EXPECT_EQ(rows[1].line, 3);
  EXPECT_EQ(text_in(rows[2], "a"), "z");
  EXPECT_EQ(rows[2].line, 5);
}

TEST(JsonRowsTest, AListThatIsNotWholeIsABadRow) {
  EXPECT_THAT(refusal_of_list("[{\"a\": 1},\n{\"a\": 2}"),
              HasSubstr("data.json:2: the file ends inside of the list"));
  EXPECT_THAT(refusal_of_list("[{\"a\": 1},\n"), HasSubstr("the file ends inside of the list"));
  EXPECT_THAT(refusal_of_list("[{\"a\": 1},\n{\"a\": \"2]"), HasSubstr("data.json:2: "));
  EXPECT_THAT(refusal_of_list("["), HasSubstr("the file ends inside of the list"));
  EXPECT_THAT(refusal_of_list("[{\"a\": 1}, 2]"), HasSubstr("it is not a JSON object"));
  EXPECT_THAT(refusal_of_list("[{\"a\": 1}, ]"), HasSubstr("it is an empty item"));
}

TEST(JsonRowsTest, AListHasRowsAndNothingBehindIt) {
  EXPECT_THAT(refusal_of_list(" [ ] \n"), HasSubstr("error[E532]: a data file has no rows"));
  EXPECT_THAT(refusal_of_list("[{\"a\": 1}]\n\n{\"a\": 2}"),
              HasSubstr("error[E532]: there is data after the end of the list"));
  EXPECT_THAT(refusal_of_list("[{\"a\": 1}]\n\n{\"a\": 2}"), HasSubstr("data.json:3"));
}

TEST(JsonRowsTest, ManyRowsAreFoundFromAnyPlace) {
  std::string lines;
  std::string list = "[";
  for (int i = 0; i < 1000; ++i) {
    const std::string object = "{\"a\": \"" +
                               std::string(static_cast<std::size_t>(i % 97) * 9, 'x') +
                               std::to_string(i) + "\"}";
    lines += object + "\n";
    list += (i == 0 ? "" : ",\n") + object;
  }
  const MadeFile made_lines("data.jsonl", lines);
  const MadeFile made_list("data.json", list + "]");
  const RowFile of_lines = open_rows(made_lines.options);
  const RowFile of_list = open_rows(made_list.options);

  for (const std::int64_t first : {0, 999, 31, 32, 33, 500, 64, 7}) {
    for (const RowFile* file : {&of_lines, &of_list}) {
      const Row row = file->read(first, 1).at(0);
      EXPECT_THAT(text_in(row, "a"), testing::EndsWith(std::to_string(first)));
      EXPECT_EQ(row.line, first + 1);
      EXPECT_EQ(row.id, first);
    }
  }
  EXPECT_EQ(of_lines.read(100, 300).size(), 300U);
}

}  // namespace
}  // namespace mgpu::input
