// Tests how solutions are split into steps.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/rows/text_steps.hpp>

#include "rows/char_tokenizer.hpp"

namespace mgpu::rows {
namespace {

using test::char_folder;
using test::ids_of;
using test::kEndId;
using testing::ElementsAre;

std::vector<TextStep> split(std::vector<std::int64_t> ids, const StepRule& rule = {}) {
  const text::TextFolder folder = char_folder();
  return split_into_steps(ids, rule, &folder.tokenizer);
}

std::vector<std::string> texts_of(const std::vector<TextStep>& steps) {
  std::vector<std::string> texts;
  for (const TextStep& step : steps)
    texts.push_back(step.text);
  return texts;
}

std::vector<std::string> lines(const std::string& text, std::int64_t max_steps = 32) {
  return texts_of(split(ids_of(text), {0, max_steps}));
}

TEST(TextStepsTest, AStepIsALineWithWords) {
  EXPECT_THAT(lines("a b\nc\nd"), ElementsAre("a b\n", "c\n", "d"));
  EXPECT_THAT(lines("one line"), ElementsAre("one line"));
}

TEST(TextStepsTest, BlankLinesBelongToTheNextStepAndTheLastOnesToTheStepBefore) {
  EXPECT_THAT(lines("\n\na\n\n b\n \n"), ElementsAre("\n\na\n", "\n b\n \n"));
  EXPECT_THAT(lines(" \n"), ElementsAre(" \n"));
}

TEST(TextStepsTest, AStopTokenIsPartOfTheLastStep) {
  std::vector<std::int64_t> ids = ids_of("a\nb\n");
  ids.push_back(kEndId);
  const std::vector<TextStep> steps = split(ids);
  EXPECT_THAT(texts_of(steps), ElementsAre("a\n", "b\n"));
  EXPECT_EQ(steps[1].first, 2U);
  EXPECT_EQ(steps[1].count, 3U);
  EXPECT_THAT(texts_of(split({kEndId})), ElementsAre(""));
}

TEST(TextStepsTest, WhatFollowsTheLastStepBelongsToIt) {
  EXPECT_THAT(lines("a\nb\nc\nd", 2), ElementsAre("a\n", "b\nc\nd"));
  EXPECT_THAT(lines("a\nb\nc", 1), ElementsAre("a\nb\nc"));
}

TEST(TextStepsTest, StepsOfTokensHaveAFixedLengthButTheLast) {
  const std::vector<TextStep> steps = split(ids_of("ab\ncdef"), {3, 32});
  EXPECT_THAT(texts_of(steps), ElementsAre("ab\n", "cde", "f"));
  EXPECT_EQ(steps[1].first, 3U);
  EXPECT_EQ(steps[2].count, 1U);
  EXPECT_THAT(texts_of(split(ids_of("abcdef"), {2, 2})), ElementsAre("ab", "cdef"));
}

TEST(TextStepsTest, WithoutATokenizerStepsOfTokensHaveNoText) {
  const std::vector<std::int64_t> ids = {5, 6, 7};
  EXPECT_THAT(texts_of(split_into_steps(ids, {2, 32}, nullptr)), ElementsAre("", ""));
  EXPECT_THROW(split_into_steps(ids, {0, 32}, nullptr), Error);
}

TEST(TextStepsTest, JoinedTextsAndTokensAreTheSolution) {
  const std::string text = "\nab 1\n\n2 : c\n-\n \nz\n";
  for (const StepRule& rule : {StepRule{0, 32}, StepRule{0, 2}, StepRule{4, 32}, StepRule{1, 3}}) {
    std::string joined;
    std::size_t next = 0;
    for (const TextStep& step : split(ids_of(text), rule)) {
      EXPECT_EQ(step.first, next);
      next += step.count;
      joined += step.text;
    }
    EXPECT_EQ(joined, text);
    EXPECT_EQ(next, text.size());
  }
}

/// Returns the texts of steps of two tokens. Tokens of `letters` are letters, but y and z are the
/// two bytes of a character.
std::vector<std::string> pairs_of(const std::string& letters) {
  text::TextFiles files = test::char_files();
  for (const auto& [letter, byte] : {std::pair("\"y\"", "\"Ã\""), std::pair("\"z\"", "\"©\"")})
    files.tokenizer.replace(files.tokenizer.find(letter), 3, byte);
  const text::TextFolder folder = text::parse_text_folder(files, "folder");
  return texts_of(split_into_steps(ids_of(letters), {2, 32}, &folder.tokenizer));
}

TEST(TextStepsTest, ACharacterOfTwoStepsIsInTheSecond) {
  EXPECT_THAT(pairs_of("ayzb"), ElementsAre("a", "éb"));
  EXPECT_THAT(pairs_of("yzab"), ElementsAre("é", "ab"));
  EXPECT_THAT(pairs_of("abay"), ElementsAre("ab", "a\uFFFD"));  // half of a character at the end
}

TEST(TextStepsTest, AStepOfBlanksAtTheEndIsJoinedForLinesOnly) {
  const std::vector<TextStep> steps = split(ids_of("a\n\n \n"));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].count, 5U);
  EXPECT_THAT(texts_of(split(ids_of("ab\n"), {2, 32})), ElementsAre("ab", "\n"));
  EXPECT_THAT(texts_of(split(ids_of("a\nb\n "), {0, 2})), ElementsAre("a\n", "b\n "));
}

}  // namespace
}  // namespace mgpu::rows
