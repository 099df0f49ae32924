// Tests how job classify makes prompts of rows, with a label after each prompt.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "jobs/classify/samples.hpp"
#include "rows/char_tokenizer.hpp"

namespace mgpu::jobs {
namespace {

using rows::RowStatus;
using rows::TooLong;
using rows::test::char_folder;
using rows::test::ids_of;
using rows::test::row_of;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

class ClassifySamplesTest : public testing::Test {
protected:
  ClassifySamplesTest() {
    options_.config.labels = {"no", "yes"};
    options_.strategy.user_template = "say {text}:";
    options_.max_length = 40;
    options_.may_be_bad = true;
  }

  ClassifySample make(const std::string& json, const std::string& chat = "") const {
    return ClassifyEncoder(char_folder(chat), options_).encode(row_of(json), "rows.jsonl");
  }

  std::string code(const std::string& json) const {
    try {
      make(json);
    } catch (const Failure& failure) {
      return failure.report().code + ": " + failure.report().lines.front();
    }
    return "";
  }

  /// Converts ids to text.
  static std::string text_of(const std::vector<std::int64_t>& ids) {
    std::string text;
    for (const std::int64_t id : ids)
      text += rows::test::kAlphabet[static_cast<std::size_t>(id)];
    return text;
  }

  ClassifyEncoder::Options options_;
};

TEST_F(ClassifySamplesTest, ALabelFollowsThePromptBehindASpace) {
  const ClassifySample sample = make(R"({"text": "hi"})");

  EXPECT_EQ(text_of(sample.ids), "say hi:");
  ASSERT_EQ(sample.continuations.size(), 2U);
  EXPECT_EQ(text_of(sample.continuations[0]), " no");
  EXPECT_EQ(text_of(sample.continuations[1]), " yes");
  EXPECT_EQ(sample.facts.status, RowStatus::ok);
  EXPECT_EQ(sample.truth, -1);
}

TEST_F(ClassifySamplesTest, ALabelOfTheDataMayHaveAName) {
  options_.config.label_values = {"0", "1"};
  options_.columns = {{"label", "class"}, {"text", "tweet"}};
  EXPECT_EQ(make(R"({"text": "hi", "label": 1})").truth, 1);
  EXPECT_EQ(make(R"({"text": "hi", "label": "0"})").truth, 0);
  EXPECT_EQ(make(R"({"text": "hi", "label": "yes"})").facts.reason,
            "`class` is \"yes\", which is none of \"0\" (no), \"1\" (yes)");
  EXPECT_EQ(make(R"({"label": 1})").facts.reason, "`tweet` is not a text");
}

TEST_F(ClassifySamplesTest, NoSpaceFollowsABlankOrAnOpener) {
  options_.strategy.answer_prefix = " ";
  EXPECT_EQ(text_of(make(R"({"text": "hi"})").continuations[0]), "no");
  options_.strategy.answer_prefix = "\n";
  EXPECT_EQ(text_of(make(R"({"text": "hi"})").continuations[0]), "no");
}

TEST_F(ClassifySamplesTest, WithoutATemplateTheSystemPromptStandsInFront) {
  options_.strategy.system_prompt = "be good";
  EXPECT_EQ(text_of(make(R"({"text": "hi"})").ids), "be good\n\nsay hi:");
}

TEST_F(ClassifySamplesTest, AChatTemplateGetsSystemAndUser) {
  options_.strategy.system_prompt = "be";
  const ClassifySample sample =
      make(R"({"text": "hi"})",
           "{% for m in messages %}{{ m.role }}-{{ m.content }}\n{% endfor %}"
           "{% if add_generation_prompt %}A {% endif %}");
  EXPECT_EQ(text_of(sample.ids), "system-be\nuser-say hi:\nA ");
}

TEST_F(ClassifySamplesTest, AnAnswerThatIsGeneratedHasNoLabelsBehindIt) {
  options_.config.generates = true;
  options_.strategy.answer_prefix = "X";
  const ClassifySample sample = make(R"({"text": "hi"})");

  EXPECT_THAT(sample.continuations, IsEmpty());
  EXPECT_EQ(text_of(sample.ids), "say hi:");  // the prefix is for labels that are scored
}

TEST_F(ClassifySamplesTest, OtherColumnsOfTheRowAreCopied) {
  const ClassifySample sample = make(
      R"({"text": "hi", "label": "yes", "group": 7, "persona_tag": "p", "source_dataset": "d"})");

  EXPECT_EQ(sample.truth, 1);
  EXPECT_EQ(sample.text, "hi");
  EXPECT_EQ(sample.group, "7");
  EXPECT_EQ(sample.persona, "p");
  EXPECT_EQ(sample.source, "d");
  EXPECT_EQ(make(R"({"text": "hi", "target_group": "t"})").group, "t");
}

TEST_F(ClassifySamplesTest, ALabelHasToBeOneOfTheLabels) {
  const ClassifySample sample = make(R"({"text": "hi", "label": "maybe"})");
  EXPECT_EQ(sample.facts.status, RowStatus::bad_row);
  EXPECT_THAT(sample.facts.reason, HasSubstr("which is none of \"no\", \"yes\""));
  EXPECT_THAT(sample.ids, IsEmpty());
  options_.may_be_bad = false;
  EXPECT_THAT(code(R"({"text": "hi", "label": "maybe"})"), HasSubstr("E531"));
}

TEST_F(ClassifySamplesTest, ALabelMayBeANumber) {
  options_.config.labels = {"0", "1"};
  EXPECT_EQ(make(R"({"text": "hi", "label": 1})").truth, 1);
  EXPECT_EQ(make(R"({"text": "hi", "label": null})").truth, -1);
}

TEST_F(ClassifySamplesTest, WhatTheFileSaysOfARowStaysItsProblem) {
  input::Row row = row_of("{}");
  row.problem = "it is an empty line";
  const auto sample = ClassifyEncoder(char_folder(), options_).encode(row, "rows.jsonl");

  EXPECT_EQ(sample.facts.status, RowStatus::bad_row);
  EXPECT_EQ(sample.facts.reason, "it is an empty line");
}

TEST_F(ClassifySamplesTest, ATextOfTheRightLengthIsNotCut) {
  options_.max_length = 11;  // "say hi: yes"
  EXPECT_EQ(make(R"({"text": "hi"})").facts.status, RowStatus::ok);
}

TEST_F(ClassifySamplesTest, TruncationCutsTheTextAndKeepsThePromptWhole) {
  options_.max_length = 13;
  const ClassifySample sample = make(R"({"text": "abcdefgh"})");

  EXPECT_EQ(sample.facts.status, RowStatus::truncated);
  EXPECT_EQ(text_of(sample.ids), "say abcd:");
  EXPECT_EQ(text_of(sample.continuations[1]), " yes");
  EXPECT_EQ(sample.facts.reason, "17 tokens, at most 13 are allowed");
  EXPECT_EQ(sample.text, "abcdefgh");  // the whole text, as in the row
}

TEST_F(ClassifySamplesTest, APromptWithoutRoomForTheTextIsLeftOut) {
  options_.max_length = 9;
  const ClassifySample sample = make(R"({"text": "abcdefgh"})");

  EXPECT_EQ(sample.facts.status, RowStatus::too_long);
  EXPECT_THAT(sample.ids, IsEmpty());
  EXPECT_THAT(sample.continuations, IsEmpty());
}

TEST_F(ClassifySamplesTest, LongTextsAreDroppedOrEndTheRunWhereTheKeySaysSo) {
  options_.max_length = 13;
  options_.config.length.too_long = TooLong::drop;
  EXPECT_EQ(make(R"({"text": "abcdefgh"})").facts.status, RowStatus::too_long);
  options_.config.length.too_long = TooLong::error;
  EXPECT_THAT(code(R"({"text": "abcdefgh"})"),
              testing::AllOf(HasSubstr("E531"), HasSubstr("rows.jsonl:1: 17 tokens")));
}

TEST_F(ClassifySamplesTest, OtherColumnsOfATemplateAreFilledIn) {
  options_.strategy.user_template = "{who} {text}:";
  EXPECT_EQ(text_of(make(R"({"text": "hi", "who": "Bo"})").ids), "Bo hi:");
  EXPECT_EQ(make(R"({"text": "hi"})").facts.reason, "the template needs `who`, which it lacks");
}

TEST_F(ClassifySamplesTest, TheWholePromptOfALabelIsItsTokens) {
  const ClassifySample sample = make(R"({"text": "hi"})");
  for (std::size_t label = 0; label < 2; ++label) {
    std::vector<std::int64_t> whole = sample.ids;
    whole.insert(whole.end(), sample.continuations[label].begin(),
                 sample.continuations[label].end());
    EXPECT_THAT(whole, ElementsAreArray(ids_of("say hi: " + options_.config.labels[label])));
  }
}

}  // namespace
}  // namespace mgpu::jobs
