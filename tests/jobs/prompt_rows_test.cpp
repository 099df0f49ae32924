#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/jobs/prompt_rows.hpp>
#include <mgpu/jobs/stop_strings.hpp>

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// One token per character: a, b, c, the blank, and "é" in two bytes.
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

std::string problem_of(const std::string& line) {
  store::LineProblems problems("p.jsonl");
  parse_prompt_rows(line, problems);
  try {
    problems.throw_if_any();
    return "";
  } catch (const Failure& failure) {
    return render(failure.report());
  }
}

TEST(PromptRowsTest, ReadsTheThreeKindsAndPassesOverOtherMembers) {
  store::LineProblems problems("p.jsonl");
  const auto rows = parse_prompt_rows(
      R"({"prompt": "", "id": 7}
{"messages": [{"role": "user", "content": "hi", "name": "x"}]}
{"token_ids": [3, 1]})",
      problems);

  EXPECT_NO_THROW(problems.throw_if_any());
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].prompt, "");
  ASSERT_EQ(rows[1].messages.size(), 1U);
  EXPECT_EQ(rows[1].messages[0].content, "hi");
  EXPECT_THAT(rows[2].token_ids, ElementsAre(3, 1));
  EXPECT_EQ(rows[2].line, 3);
}

TEST(PromptRowsTest, SaysWhatIsWrongWithALine) {
  EXPECT_THAT(problem_of(R"({"text": "a"})"), HasSubstr("none of `prompt`"));
  EXPECT_THAT(problem_of(R"({"prompt": "a", "messages": []})"), HasSubstr("more than one of"));
  EXPECT_THAT(problem_of(R"({"prompt": null})"), HasSubstr("`prompt` is not a text"));
  EXPECT_THAT(problem_of(R"({"messages": [{"role": "user"}]})"), HasSubstr("`content` is not"));
  EXPECT_THAT(problem_of(R"({"messages": []})"), HasSubstr("not a list of messages"));
  EXPECT_THAT(problem_of(R"({"token_ids": [1.5]})"), HasSubstr("that is no id"));
  EXPECT_THAT(problem_of(R"({"token_ids": [18446744073709551617]})"), HasSubstr("p.jsonl:1: "));
}

TEST(PromptEncoderTest, EncodesTextsAndRefusesWhatTheFolderCannot) {
  PromptEncoder encoder(files("{}"), "folder", {.vocab = 6});
  store::LineProblems problems("p.jsonl");

  const auto encoded = encoder.encode({1, "ab c", {}, {}}, problems);
  ASSERT_TRUE(encoded);
  EXPECT_THAT(encoded->ids, ElementsAre(0, 1, 3, 2));
  EXPECT_NO_THROW(problems.throw_if_any());

  EXPECT_FALSE(encoder.encode({2, "", {}, {}}, problems));
  EXPECT_FALSE(encoder.encode({3, std::nullopt, {{"user", "a"}}, {}}, problems));
  EXPECT_FALSE(encoder.encode({4, std::nullopt, {}, {6}}, problems));
  try {
    problems.throw_if_any();
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.report().lines,
                ElementsAre(HasSubstr(":2: its text has no tokens"),
                            HasSubstr(":3: it has messages, but the model's folder has no chat"),
                            HasSubstr(":4: token 6 is not in the model's vocabulary of 6")));
  }
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
  EXPECT_FALSE(stops.is_reached(2, std::span(second).first(1)));  // not behind the other's "a"
  EXPECT_FALSE(stops.is_reached(1, first));
  EXPECT_FALSE(stops.is_reached(2, std::span(second).first(2)));
  EXPECT_TRUE(stops.is_reached(2, second));
}

}  // namespace
}  // namespace mgpu::jobs
