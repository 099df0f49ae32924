// Tests labels in answers of language models.
#include "jobs/classify/answer_parser.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mgpu::jobs {
namespace {

constexpr std::int32_t kNormal = 0;
constexpr std::int32_t kHate = 1;

ParsedAnswer parse(const std::string& answer) {
  return AnswerParser({"normal", "hate"}).parse(answer);
}

TEST(AnswerParserTest, RawJson) {
  EXPECT_EQ(parse(R"({"classification": "hate", "rationale": "it says \"normal\" people"})"),
            (ParsedAnswer{kHate, "it says \"normal\" people"}));
  EXPECT_EQ(parse(R"({"rationale": "hate is absent", "classification": " Normal "})"),
            (ParsedAnswer{kNormal, "hate is absent"}));
}

TEST(AnswerParserTest, JsonInACodeFence) {
  EXPECT_EQ(parse("Here it is {really}:\n```json\n{\n  \"classification\": \"hate\",\n"
                  "  \"rationale\": \"a } brace\"\n}\n```\n"),
            (ParsedAnswer{kHate, "a } brace"}));
}

TEST(AnswerParserTest, CutJson) {
  EXPECT_EQ(parse(R"({"classification": "hate", "rationale": "not normal, it)").label, kHate);
  EXPECT_EQ(parse(R"({"rationale": "it is neither", "classifi)").label, -1);
  EXPECT_EQ(parse(R"({"classification": "ha)").label, -1);
}

TEST(AnswerParserTest, ALabelInProse) {
  EXPECT_EQ(parse("I would call this text HATE."),
            (ParsedAnswer{kHate, "I would call this text HATE."}));
  EXPECT_EQ(parse("That is abnormal, hate").label, kHate);
}

TEST(AnswerParserTest, NoLabelOrSeveralIsUnknown) {
  EXPECT_EQ(parse("I cannot say.").label, -1);
  EXPECT_EQ(parse("").label, -1);
  EXPECT_EQ(parse("hate or normal").label, -1);
  EXPECT_EQ(parse(R"({"classification": "other", "rationale": "hate"})").label, -1);
  EXPECT_EQ(parse(R"({"classification": 3})").label, -1);
}

TEST(AnswerParserTest, TheLongestLabelAtAPlaceCounts) {
  const AnswerParser parser({"hate", "hate speech"});
  EXPECT_EQ(parser.parse("this is hate speech.").label, 1);
  EXPECT_EQ(parser.parse("this is hate.").label, 0);
}

/// Returns a tokenizer that has one token for each word of these tests, and the tokens of the
/// harmony format.
text::Tokenizer harmony() {
  return text::Tokenizer::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
    "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
    "added_tokens": [
      {"id": 0, "content": "<|start|>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 1, "content": "<|channel|>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 2, "content": "<|message|>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 3, "content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 4, "content": "<|return|>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true}],
    "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>",
      "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
      "byte_fallback": false, "ignore_merges": true,
      "vocab": {"<|start|>": 0, "<|channel|>": 1, "<|message|>": 2, "<|end|>": 3,
                "<|return|>": 4, "analysis": 5, "final": 6, "assistant": 7, "hate": 8,
                "normal": 9, "<unk>": 10},
      "merges": []}})");
}

std::vector<std::int64_t> final_of(const std::string& text) {
  const text::Tokenizer tokenizer = harmony();
  const std::vector<text::TokenId> ids = tokenizer.encode(text, false);
  const std::vector<std::int64_t> wide(ids.begin(), ids.end());
  const auto found = final_channel(wide, tokenizer);
  return {found.begin(), found.end()};
}

TEST(FinalChannelTest, IsFoundByTokenIds) {
  EXPECT_EQ(final_of("<|channel|>analysis<|message|>hate normal<|end|><|start|>assistant"
                     "<|channel|>final<|message|>hate<|return|>"),
            std::vector<std::int64_t>{8});
  EXPECT_EQ(final_of("<|channel|>final<|message|>normal"), std::vector<std::int64_t>{9});
}

TEST(FinalChannelTest, AnAnswerThatEndsInAnotherChannelHasNone) {
  EXPECT_TRUE(final_of("<|channel|>analysis<|message|>hate").empty());
  EXPECT_TRUE(final_of("<|channel|>analysis").empty());
}

TEST(FinalChannelTest, AnAnswerWithoutChannelsIsItself) {
  EXPECT_EQ(final_of("hate normal"), (std::vector<std::int64_t>{8, 9}));
}

}  // namespace
}  // namespace mgpu::jobs
