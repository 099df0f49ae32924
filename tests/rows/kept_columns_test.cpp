// Tests output.keep_columns: the user's columns in a result, and their values as strings.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/config_problem.hpp>
#include <mgpu/rows/kept_columns.hpp>

#include "input/made_file.hpp"
#include "support/made_config.hpp"

namespace mgpu::rows {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::config_of;
using testing_support::report_of_failure;

using Names = std::vector<std::string>;

class KeptColumnsTest : public testing::Test {
protected:
  /// Returns the kept columns of a file; `keep`: the value of output.keep_columns.
  KeptColumns kept(input::MadeFile& file, const std::string& keep = "auto",
                   const Names& standard = {"id", "label"}) {
    file.options.may_have = {"text", "label", "group"};
    const input::RowFile rows = input::open_rows(file.options);
    const Config config = config_of({{"job", "classify"}, {"output.keep_columns", keep}});
    file.options.keeps = standard;
    return {config, read_keep_columns(config), rows, file.options};
  }

  /// Returns the kept values of all rows.
  std::vector<Names> values(input::MadeFile& file, const std::string& keep = "auto") {
    const KeptColumns columns = kept(file, keep);
    std::vector<Names> values;
    for (const input::Row& row : input::read_all(file.options))
      values.push_back(columns.values_of(row));
    return values;
  }

  ErrorReport refusal(input::MadeFile& file, const std::string& keep) {
    return report_of_failure([&] { kept(file, keep); });
  }

  input::MadeFile csv_{"rows.csv", "id,text,mark\n7,good,x\n8,bad,y\n"};
  input::MadeFile json_{"rows.jsonl", R"({"id": 7, "text": "good", "facts": {"a": [1, null]}})"
                                      "\n"
                                      R"({"text": "bad", "label": "later", "mark": null})"
                                      "\n"};
};

TEST_F(KeptColumnsTest, AutoKeepsTheStandardColumnsThatTheFileHas) {
  EXPECT_THAT(kept(csv_).names(), ElementsAre("id"));
  EXPECT_THAT(kept(csv_, "auto", {"mark", "text", "label"}).names(), ElementsAre("mark", "text"));
  EXPECT_THAT(kept(csv_, "auto", {}).names(), IsEmpty());
}

TEST_F(KeptColumnsTest, ForJsonTheFirstRowSaysWhatTheFileHas) {
  EXPECT_THAT(kept(json_).names(), ElementsAre("id"));  // `label` comes in the second row only
}

TEST_F(KeptColumnsTest, GivenNamesComeInTheirOrder) {
  EXPECT_THAT(kept(csv_, "[mark, id]").names(), ElementsAre("mark", "id"));
  EXPECT_THAT(values(csv_, "[mark, id]"),
              ElementsAre(ElementsAre("x", "7"), ElementsAre("y", "8")));
}

TEST_F(KeptColumnsTest, AnEmptyListKeepsNothing) {
  EXPECT_THAT(kept(csv_, "[]").names(), IsEmpty());
}

TEST_F(KeptColumnsTest, ValuesOfJsonAreTextsOrJson) {
  EXPECT_THAT(values(json_, "[id, text, facts, label]"),
              ElementsAre(ElementsAre("7", "good", R"({"a":[1,null]})", ""),
                          ElementsAre("", "bad", "", "later")));
}

TEST_F(KeptColumnsTest, NullIsAsGoodAsNothing) {
  EXPECT_THAT(values(json_, "[mark]"), ElementsAre(ElementsAre(""), ElementsAre("")));
}

TEST_F(KeptColumnsTest, ARowThatCannotBeReadHasNoValues) {
  const KeptColumns columns = kept(csv_, "[id]");
  EXPECT_THAT(columns.values_of(input::Row{}), IsEmpty());
}

TEST_F(KeptColumnsTest, AMappedColumnHasBothItsNames) {
  csv_.options.columns = {{"label", "mark"}};

  EXPECT_THAT(kept(csv_).names(), ElementsAre("id", "label"));
  EXPECT_THAT(values(csv_), ElementsAre(ElementsAre("7", "x"), ElementsAre("8", "y")));
  EXPECT_THAT(values(csv_, "[mark]"), ElementsAre(ElementsAre("x"), ElementsAre("y")));
}

TEST_F(KeptColumnsTest, AMappedColumnOfJsonIsFoundInTheFirstRow) {
  input::MadeFile file("rows.jsonl", R"({"mark": "x", "text": "good"})");
  file.options.columns = {{"label", "mark"}};

  EXPECT_THAT(kept(file).names(), ElementsAre("label"));
  EXPECT_THAT(values(file), ElementsAre(ElementsAre("x")));
}

TEST_F(KeptColumnsTest, AColumnThatATableLacksIsRefusedWithTheNearestName) {
  const ErrorReport report = refusal(csv_, "[id, marc]");

  EXPECT_EQ(report.code, "E533");
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_EQ(report.sentence, "a data file has no column `marc`");
  EXPECT_EQ(report.help, "output.keep_columns=[mark]");
  EXPECT_THAT(report.lines.front(), HasSubstr("rows.csv"));
}

TEST_F(KeptColumnsTest, RowsOfJsonMayLackAColumn) {
  EXPECT_EQ(refusal(json_, "[nowhere]").code, "");
  EXPECT_THAT(values(json_, "[nowhere]"), ElementsAre(ElementsAre(""), ElementsAre("")));
}

TEST_F(KeptColumnsTest, NamesThatNoColumnCanHaveAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"(["", id])", "a name is empty"},
      {"[id, id]", "a name is there twice"},
      {"[a/b]", "a name has a slash"},
      {"[" + std::string(201, 'x') + "]", "a name has more than 200 bytes"}};
  for (const auto& [keep, sentence] : cases) {
    const ErrorReport report = refusal(json_, keep);
    EXPECT_EQ(report.code, "E107") << keep;
    EXPECT_EQ(report.exit, ExitCode::config);
    EXPECT_EQ(report.sentence, sentence);
  }
  EXPECT_EQ(refusal(json_, "[" + std::string(200, 'x') + "]").code, "");
}

}  // namespace
}  // namespace mgpu::rows
