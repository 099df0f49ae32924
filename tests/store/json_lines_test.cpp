// Lines of data files that somebody else wrote: the catalogue of bad input.
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/store/json_lines.hpp>

namespace mgpu::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  LineProblems problems("data.jsonl");
  parse_json_lines(text, problems);
  try {
    problems.throw_if_any();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E531");
    EXPECT_EQ(failure.exit_code(), ExitCode::data);
    return render(failure.report());
  }
  return "";
}

TEST(JsonLinesTest, ReadsAnObjectPerLineWithAnyLineEnd) {
  LineProblems problems("data.jsonl");

  const auto lines = parse_json_lines("{\"a\": 1}\r\n{\"a\": \"x\\u0000\\n\"}", problems);

  EXPECT_NO_THROW(problems.throw_if_any());
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].number, 1);
  EXPECT_EQ(*lines[0].object.find("a")->integer(), 1);
  EXPECT_EQ(lines[1].number, 2);
  EXPECT_EQ(*lines[1].object.find("a")->text(), std::string("x\0\n", 3));
}

TEST(JsonLinesTest, NamesTheLineOfEachMistake) {
  const std::string deep(100000, '[');
  const std::string good = "{\"a\": 1}\n";
  EXPECT_THAT(refusal(""), HasSubstr("data.jsonl:1: the file is empty"));
  EXPECT_THAT(refusal(good + "\n" + good), HasSubstr("data.jsonl:2: it is an empty line"));
  EXPECT_THAT(refusal(good + "[1]"), HasSubstr("data.jsonl:2: it is not a JSON object"));
  EXPECT_THAT(refusal(good + good + "{\"a\""), HasSubstr("data.jsonl:3: "));
  EXPECT_THAT(refusal(good + "{\"a\": \"\xff\"}"), HasSubstr("data.jsonl:2: "));
  EXPECT_THAT(refusal(good + "{\"a\": \"\\ud800\"}"), HasSubstr("data.jsonl:2: "));
  EXPECT_THAT(refusal(good + "{\"a\": " + deep), HasSubstr("data.jsonl:2: "));
  EXPECT_THAT(refusal(good + "{\"a\": 1e400}"), HasSubstr("data.jsonl:2: "));
  EXPECT_THAT(refusal("{\"a\": 1, \"a\": 2}"), HasSubstr("`a` comes twice"));
  EXPECT_THAT(refusal("{\"a\": \"" + std::string(17 << 20, 'x') + "\"}"),
              HasSubstr("it is longer than 16 MiB"));
}

TEST(JsonLinesTest, ShowsTheFirstFiveOfMany) {
  const std::string text = refusal("1\n2\n3\n{}\n5\n6\n7\n");

  EXPECT_THAT(text, HasSubstr("6 lines of a data file cannot be used"));
  EXPECT_THAT(text, HasSubstr("data.jsonl:6"));
  EXPECT_THAT(text, testing::Not(HasSubstr("data.jsonl:7")));
  EXPECT_THAT(text, HasSubstr("and 1 more"));
}

TEST(JsonLinesTest, ProblemsOfSeveralRanksBecomeOneList) {
  LineProblems all("x");
  LineProblems others("x");
  others.add(1, "first");
  for (int line = 9; line > 2; --line)
    all.add(line, "late");

  all.unpack(others.packed());

  try {
    all.throw_if_any();
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.report().lines,
                ElementsAre("  --> x:1: first", "  --> x:3: late", "  --> x:4: late",
                            "  --> x:5: late", "  --> x:6: late", "  and 3 more"));
    EXPECT_THAT(failure.report().sentence, HasSubstr("8 lines"));
  }
}

}  // namespace
}  // namespace mgpu::store
