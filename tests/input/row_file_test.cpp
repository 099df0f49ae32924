// Tests rules that hold for all formats: columns, ids, the choice of rows, and files that change.
#include <string>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "made_file.hpp"

namespace mgpu::input {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RowFileTest, ColumnsComeUnderOurNamesAndTheOthersUnderTheirs) {
  MadeFile made("data.csv", "text,body,id,prompt\nold,new,7,p\n");
  made.options.columns = {{"text", "body"}, {"label", "id"}};
  made.options.one_of = {"text", "prompt"};

  const RowFile file = open_rows(made.options);
  const Row row = file.read(0, 1).at(0);

  EXPECT_EQ(row.problem, "");
  EXPECT_EQ(text_in(row, "text"), "new");
  EXPECT_EQ(text_in(row, "label"), "7");
  EXPECT_EQ(row.object.members()->size(), 2U);  // excludes the file's columns `text` and `prompt`
  EXPECT_THAT(file.columns(), testing::ElementsAre("text", "body", "id", "prompt"));
}

TEST(RowFileTest, AColumnThatIsMissingIsNamedWithThoseThereAre) {
  MadeFile table("data.csv", "input_text,label\na,b\n");
  table.options.columns = {{"text", "input_txt"}};
  EXPECT_THAT(refusal(table.options), HasSubstr("error[E533]"));
  EXPECT_THAT(refusal(table.options),
              HasSubstr("it has `input_text` and `label`; did you mean `input_text`?"));
  table.options.columns = {};
  table.options.one_of = {"text", "prompt"};
  EXPECT_THAT(refusal(table.options), HasSubstr("no column `text` or `prompt`"));
  table.options.one_of = {};
  table.options.all_of = {"group"};
  EXPECT_THAT(refusal(table.options), HasSubstr("no column `group`"));

  MadeFile lines("data.jsonl", "{\"input_text\": \"a\"}\n");
  lines.options.columns = {{"text", "input_txt"}};
  EXPECT_THAT(refusal(lines.options), HasSubstr("jsonl:1: there is no `input_txt`: it has "
                                                "`input_text`; did you mean `input_text`?"));
}

TEST(RowFileTest, ARowHasExactlyOneThingToWorkOn) {
  MadeFile made("data.jsonl",
                "{\"text\": \"a\", \"prompt\": null}\n{\"label\": 1}\n"
                "{\"text\": \"a\", \"prompt\": \"b\"}\n{\"prompt\": \"b\"}\n"
                "{\"prompt\": \"b\", \"completion\": 3}\n");
  made.options.one_of = {"text", "prompt"};
  made.options.may_have = {"completion"};
  made.options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(made.options);

  EXPECT_EQ(rows[0].problem, "");
  EXPECT_EQ(rows[0].object.find("prompt"), nullptr);
  EXPECT_EQ(rows[1].problem, "it has none of `text` and `prompt`");
  EXPECT_EQ(rows[2].problem, "it has more than one of `text` and `prompt`");
  EXPECT_EQ(rows[3].problem, "");
  EXPECT_EQ(rows[4].problem, "`completion` is not a text");
}

TEST(RowFileTest, FieldsAreOfTheirKind) {
  MadeFile made("data.jsonl",
                "{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n"
                "{\"messages\": []}\n{\"messages\": [{\"role\": \"user\"}]}\n"
                "{\"token_ids\": [1, 2]}\n{\"token_ids\": [1.5]}\n{\"token_ids\": 5}\n");
  made.options.one_of = {"messages", "token_ids"};
  made.options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(made.options);

  EXPECT_EQ(rows[0].problem, "");
  EXPECT_EQ(rows[1].problem, "`messages` is not a list of messages");
  EXPECT_EQ(rows[2].problem, "`content` is not a text");
  EXPECT_EQ(rows[3].problem, "");
  EXPECT_EQ(rows[4].problem, "`token_ids` has a value that is no id");
  EXPECT_EQ(rows[5].problem, "`token_ids` is not a list of ids");
}

TEST(RowFileTest, PairsAreTextsOrMessages) {
  MadeFile made("data.jsonl",
                "{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": \"c\"}\n"
                "{\"prompt\": [{\"role\": \"user\", \"content\": \"a\"}], \"chosen\": [{\"role\": "
                "\"assistant\", \"content\": \"b\"}], \"rejected\": [{\"role\": \"assistant\", "
                "\"content\": \"c\"}]}\n"
                "{\"prompt\": 1, \"chosen\": \"b\", \"rejected\": \"c\"}\n"
                "{\"prompt\": \"a\", \"chosen\": [{\"role\": 1}], \"rejected\": \"c\"}\n"
                "{\"prompt\": \"a\", \"chosen\": \"b\", \"rejected\": []}\n"
                "{\"prompt\": \"a\", \"chosen\": \"b\"}\n");
  made.options.all_of = {"chosen", "rejected"};
  made.options.may_have = {"prompt"};
  made.options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(made.options);

  EXPECT_EQ(rows[0].problem, "");
  EXPECT_EQ(rows[1].problem, "");
  EXPECT_EQ(rows[2].problem, "`prompt` is neither a text nor a list of messages");
  EXPECT_EQ(rows[3].problem, "`role` is not a text");
  EXPECT_EQ(rows[4].problem, "`rejected` is not a list of messages");
  EXPECT_EQ(rows[5].problem, "it has no `rejected`");
}

TEST(RowFileTest, AnswersAreTextsOrNumbers) {
  MadeFile made("data.jsonl",
                "{\"answer\": \"1/2\"}\n{\"answer\": 5}\n{\"answer\": 0.5}\n{\"answer\": [1]}\n"
                "{\"text\": \"a\"}\n");
  made.options.all_of = {"answer"};
  made.options.on_bad_row = BadRow::mark;

  const std::vector<Row> rows = read_all(made.options);

  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(rows[i].problem, "");
  EXPECT_EQ(rows[3].problem, "`answer` is neither a text nor a number");
  EXPECT_THAT(rows[4].problem, HasSubstr("`answer`"));
}

TEST(RowFileTest, IdsDiffer) {
  MadeFile made("data.jsonl",
                "{\"key\": \"a\"}\n{\"key\": 123456789012345678901}\n{\"key\": \"b\"}\n"
                "{\"key\": 123456789012345678901}\n{\"key\": \"a\"}\n{\"key\": [1]}\n");
  made.options.columns = {{"id", "key"}};

  const std::string shown = refusal(made.options);

  EXPECT_THAT(shown, HasSubstr("3 lines of a data file cannot be used"));
  EXPECT_THAT(shown, HasSubstr("data.jsonl:4: its `id` is that of line 2"));
  EXPECT_THAT(shown, HasSubstr("data.jsonl:5: its `id` is that of line 1"));
  EXPECT_THAT(shown, HasSubstr("data.jsonl:6: `id` is neither a text nor a whole number"));

  made.options.on_bad_row = BadRow::mark;
  const std::vector<Row> rows = read_all(made.options);
  EXPECT_EQ(rows[0].problem, "");
  EXPECT_EQ(text_in(rows[1], "id"), "123456789012345678901");
  EXPECT_EQ(rows[4].problem, "its `id` is that of line 1");
}

TEST(RowFileTest, RowsAreChosenByStartAndNumber) {
  MadeFile made("data.jsonl", "bad\n{\"a\": \"1\"}\n{\"a\": \"2\"}\nbad\n");
  made.options.start = 1;
  made.options.max_samples = 2;

  const RowFile file = open_rows(made.options);

  EXPECT_EQ(file.rows(), 2);
  EXPECT_EQ(file.read(1, 1).at(0).id, 1);
  EXPECT_EQ(file.read(1, 1).at(0).line, 3);
  EXPECT_THROW(file.read(2, 1), Error);
  made.options.start = 4;
  EXPECT_THAT(refusal(made.options), HasSubstr("data.start is 4, but a data file has 4 rows"));
}

TEST(RowFileTest, RowsAreCountedWithoutOpeningTheFile) {
  const std::string tables = "text,n\n\"two\nlines\",1\nb,2\nc,3";
  for (const auto& [name, bytes] :
       {std::pair<std::string, std::string>{"data.csv", tables},
        {"data.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"c\"}"},
        {"data.json", "[{\"text\": \"a\"}, {\"text\": \"b\"}, {\"text\": \"c\"}]\n"}}) {
    MadeFile made(name, bytes);
    EXPECT_EQ(count_rows(made.options, 100), open_rows(made.options).rows()) << name;
    EXPECT_EQ(count_rows(made.options, 100), 3) << name;
    EXPECT_EQ(count_rows(made.options, 2), 2) << name;
    made.options.start = 1;
    EXPECT_EQ(count_rows(made.options, 100), 2) << name;
    made.options.max_samples = 1;
    EXPECT_EQ(count_rows(made.options, 100), 1) << name;
    made.options.start = 7;
    EXPECT_EQ(count_rows(made.options, 100), 0) << name;
  }
}

TEST(RowFileTest, NoRowsMayBeAskedForAtTheEnd) {
  std::string text;
  for (int i = 0; i < 32; ++i)
    text += "{}\n";
  const MadeFile made("data.jsonl", text);

  EXPECT_TRUE(open_rows(made.options).read(32, 0).empty());
}

TEST(RowFileTest, TheFormatIsThatOfTheNameOrTheKey) {
  MadeFile made("data.txt", "a\n1\n");
  EXPECT_THAT(refusal(made.options), HasSubstr("error[E532]: the name of a data file does not"));

  made.options.format = RowFormat::csv;
  EXPECT_EQ(text_in(read_all(made.options).at(0), "a"), "1");
}

TEST(RowFileTest, AFileThatIsMissingAFolderOrAPipeIsRefused) {
  MadeFile made("data.jsonl", "{}\n");
  RowOptions options = made.options;
  const fs::path pipe = made.path().parent_path() / "pipe.jsonl";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const fs::path& path :
       {made.path().parent_path() / "none.jsonl", made.path().parent_path(), pipe}) {
    options.path = path;
    options.format = RowFormat::jsonl;
    try {
      open_rows(options);
      FAIL();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E603");
      EXPECT_EQ(failure.exit_code(), ExitCode::no_input);
    }
  }
}

TEST(RowFileTest, AFileThatChangesIsRefused) {
  const MadeFile made("data.jsonl", "{\"a\": 1}\n{\"a\": 2}\n");
  const RowFile file = open_rows(made.options);
  EXPECT_EQ(file.read(0, 2).size(), 2U);

  made.write("{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n");

  try {
    file.read(0, 1);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E534");
    EXPECT_EQ(failure.exit_code(), ExitCode::data);
  }
}

TEST(RowFileTest, TheChecksumIsOfAllBytes) {
  MadeFile made("data.jsonl", "{\"a\": 1}\n{\"a\": 2}\n");
  made.options.max_samples = 1;

  EXPECT_EQ(open_rows(made.options).crc(), crc32c(read_file(made.path())));
}

TEST(RowFileTest, ShowsTheFirstFiveOfManyBadRows) {
  const MadeFile made("data.jsonl", "1\n2\n3\n{}\n5\n6\n7\n");

  const std::string shown = refusal(made.options);

  EXPECT_THAT(shown, HasSubstr("error[E531]: 6 lines of a data file cannot be used"));
  EXPECT_THAT(shown, HasSubstr("data.jsonl:6: "));
  EXPECT_THAT(shown, Not(HasSubstr("data.jsonl:7: ")));
  EXPECT_THAT(shown, HasSubstr("and 1 more"));
  EXPECT_THAT(shown, HasSubstr("data.on_bad_row=mark"));
}

}  // namespace
}  // namespace mgpu::input
