#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/rows/stop_strings.hpp>

#include "char_tokenizer.hpp"

namespace mgpu::rows {
namespace {

using test::row_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The tokenizer has one token per character: a, b, c, the blank, and "é" in two bytes.
constexpr const char* kTokenizer = R"({
  "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
  "normalizer": null, "post_processor": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                    "use_regex": false},
  "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
              "use_regex": false},
  "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": false,
            "vocab": {"a": 0, "b": 1, "c": 2, "Ġ": 3, "Ã": 4, "©": 5}, "merges": []}})";

text::TextFiles files(const std::string& settings) {
  text::TextFiles files;
  files.tokenizer = kTokenizer;
  files.tokenizer_config = settings;
  return files;
}

TEST(PromptEncoderTest, EncodesTextsAndIds) {
  PromptEncoder encoder(files("{}"), "folder", {.vocab = 6});

  const EncodedPrompt text = encoder.encode(row_of(R"({"prompt": "ab c", "id": 7})"));
  EXPECT_THAT(text.ids, ElementsAre(0, 1, 3, 2));
  EXPECT_EQ(text.text, "ab c");
  EXPECT_EQ(text.facts.reason, "");

  const EncodedPrompt ids = encoder.encode(row_of(R"({"token_ids": [2, 0]})"));
  EXPECT_THAT(ids.ids, ElementsAre(2, 0));
  EXPECT_EQ(ids.text, "ca");
}

TEST(PromptEncoderTest, SaysWhyARowCannotBeCompleted) {
  PromptEncoder encoder(files("{}"), "folder", {.vocab = 6});
  const auto problem = [&](std::string_view json) {
    const EncodedPrompt encoded = encoder.encode(row_of(json));
    EXPECT_THAT(encoded.ids, IsEmpty());
    return encoded.facts.reason;
  };

  EXPECT_EQ(problem(R"({"prompt": ""})"), "its text has no tokens");
  EXPECT_THAT(problem(R"({"prompt": "d"})"), HasSubstr("token"));  // E543
  EXPECT_THAT(problem(R"({"messages": [{"role": "user", "content": "a"}]})"),
              HasSubstr("it has messages, but the model's folder has no chat template"));
  EXPECT_EQ(problem(R"({"token_ids": [6]})"), "token 6 is not in the model's vocabulary of 6");
}

TEST(PromptEncoderTest, WhatTheFileSaysOfARowStaysItsProblem) {
  PromptEncoder encoder(files("{}"), "folder", {.vocab = 6});
  input::Row row;
  row.problem = "it is an empty line";

  EXPECT_EQ(encoder.encode(row).facts.reason, "it is an empty line");
}

TEST(PromptEncoderTest, WithoutATokenizerThereAreIdsOnly) {
  PromptEncoder encoder(std::nullopt, "folder", {.vocab = 6});

  for (const char* row :
       {R"({"prompt": "a"})", R"({"messages": [{"role": "user", "content": "a"}]})"}) {
    try {
      encoder.encode(row_of(row));
      FAIL() << "was taken";
    } catch (const Failure& failure) {  // the folder is to blame, and not the row
      EXPECT_EQ(failure.report().code, "E603");
      EXPECT_EQ(failure.report().exit, ExitCode::no_input);
      EXPECT_THAT(failure.report().sentence, HasSubstr("the model's folder has no tokenizer.json"));
      EXPECT_THAT(failure.report().lines, ElementsAre("  --> folder"));
    }
  }
  EXPECT_THAT(encoder.encode(row_of(R"({"token_ids": [5]})")).ids, ElementsAre(5));
}

TEST(PromptEncoderTest, ATokenizerLargerThanTheModelIsRefused) {
  try {
    PromptEncoder(files("{}"), "folder", {.vocab = 5});
    FAIL() << "was taken";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E702");
    EXPECT_EQ(failure.report().exit, ExitCode::data);
    EXPECT_THAT(failure.report().sentence, HasSubstr("6 tokens, the model knows 5"));
  }
}

TEST(StopStringsTest, FindsATextThatSeveralTokensMake) {
  const auto tokenizer = text::Tokenizer::parse(kTokenizer);
  StopStrings stops(tokenizer, {"ab", "é"});
  const std::vector<std::int64_t> ids = {0, 0, 1, 2};

  EXPECT_FALSE(stops.is_reached(7, std::span(ids).first(1)));
  EXPECT_FALSE(stops.is_reached(7, std::span(ids).first(2)));
  EXPECT_TRUE(stops.is_reached(7, std::span(ids).first(3)));
  EXPECT_FALSE(stops.is_reached(7, std::span(ids).first(1)));  // a new completion
}

TEST(StopStringsTest, KeepsCompletionsApartAndWaitsForWholeCharacters) {
  const auto tokenizer = text::Tokenizer::parse(kTokenizer);
  StopStrings stops(tokenizer, {"ab", "é"});
  const std::vector<std::int64_t> first = {0, 2};
  const std::vector<std::int64_t> second = {1, 4, 5};

  EXPECT_FALSE(stops.is_reached(1, std::span(first).first(1)));
  EXPECT_FALSE(stops.is_reached(2, std::span(second).first(1)));  // does not follow the other's "a"
  EXPECT_FALSE(stops.is_reached(1, first));
  EXPECT_FALSE(stops.is_reached(2, std::span(second).first(2)));
  EXPECT_TRUE(stops.is_reached(2, second));
}

}  // namespace
}  // namespace mgpu::rows
