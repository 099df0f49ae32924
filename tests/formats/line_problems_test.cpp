#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/line_problems.hpp>

namespace mgpu::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LineProblems six_problems() {
  LineProblems problems("data.jsonl");
  for (const int line : {7, 1, 6, 3, 2, 5})
    problems.add(line, "it is\x1b bad");
  return problems;
}

std::string refusal(const LineProblems& problems) {
  try {
    problems.throw_if_any();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E531");
    EXPECT_EQ(failure.exit_code(), ExitCode::data);
    return render(failure.report());
  }
  return "";
}

TEST(LineProblemsTest, NoneAreNoError) {
  const LineProblems problems("data.jsonl");

  EXPECT_EQ(problems.count(), 0);
  EXPECT_EQ(refusal(problems), "");
}

TEST(LineProblemsTest, TheFirstIsThatOfTheSmallestLine) {
  const LineProblems problems = six_problems();

  EXPECT_EQ(problems.count(), 6);
  EXPECT_THAT(problems.first_text(), testing::StartsWith("data.jsonl:1: it is"));
  EXPECT_THAT(problems.first_text(), testing::Not(HasSubstr("\x1b")));
}

TEST(LineProblemsTest, ShowsTheFirstFiveOfMany) {
  const std::string text = refusal(six_problems());

  EXPECT_THAT(text, HasSubstr("6 lines of a data file cannot be used"));
  EXPECT_THAT(text, HasSubstr("data.jsonl:6"));
  EXPECT_THAT(text, testing::Not(HasSubstr("data.jsonl:7")));
  EXPECT_THAT(text, HasSubstr("and 1 more"));
}

TEST(LineProblemsTest, ProblemsOfSeveralRanksBecomeOneList) {
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
}  // namespace mgpu::formats
