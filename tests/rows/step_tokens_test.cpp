// Tests how solutions in steps become tokens, and how given tokens are checked.
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/step_tokens.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

#include "char_tokenizer.hpp"
#include "support/project_folder.hpp"

namespace mgpu::rows {
namespace {

using test::char_folder;
using test::ids_of;
using test::kEndId;
using test::kVocab;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

/// Returns the reason why `work` refuses a row; "" if it does not.
template <class Work>
std::string why(Work work) {
  try {
    work();
  } catch (const formats::JsonError& error) {
    return error.why();
  }
  return "";
}

/// Returns the encoder of a folder whose bos token is also its eos token.
RowEncoder encoder_with_bos() {
  text::TextFiles files = test::char_files();
  files.tokenizer_config = R"({"bos_token": "<e>", "eos_token": "<e>"})";
  return {text::parse_text_folder(files, "folder"), {.vocab = kVocab}};
}

class StepTokensTest : public testing::Test {
protected:
  std::string why_not_encoded(const std::string& prompt, const std::vector<std::string>& steps,
                              const std::string& separator) const {
    return why([&] { encoder_.encode_steps(prompt, steps, separator); });
  }

  /// Returns why the solution "abcd" after a prompt of two tokens is refused if its steps end at
  /// `ends` and have `text`; "" if it is accepted.
  std::string why_not_drawn(std::vector<std::int64_t> ends, const std::string& text) const {
    const StepTokens tokens{ids_of("xyabcd"), std::move(ends)};
    return why([&] { encoder_.check_step_texts(tokens, 2, text); });
  }

  RowEncoder encoder_{char_folder(), {.vocab = kVocab, .folder = "the/folder"}};
};

TEST_F(StepTokensTest, AStepEndsAfterItsSeparator) {
  const StepTokens tokens = encoder_.encode_steps("ab", {"c", "", "de"}, ": ");
  EXPECT_THAT(tokens.ids, ElementsAreArray(ids_of("abc: : de: ")));
  EXPECT_THAT(tokens.ends, ElementsAre(5, 7, 11));
}

/// Returns the steps and labels that the labels of tokens stand for. -100: no step ends there.
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> steps_of(
    const std::vector<std::int64_t>& labels) {
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> steps;
  for (std::size_t token = 0; token < labels.size(); ++token) {
    if (labels[token] == -100) continue;
    steps.first.push_back(static_cast<std::int64_t>(token) + 1);
    steps.second.push_back(labels[token]);
  }
  return steps;
}

TEST(StepwiseGoldenTest, TokensAndLabelsAreThoseOfTrl) {
  std::ifstream file(testing_support::project_folder().string() +
                     "/tests/rows/goldens/stepwise.jsonl");
  std::int64_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const formats::JsonValue golden = formats::parse_json_object(line);
    const auto folder =
        testing_support::project_folder().string() + "/" + golden.get<std::string>("folder");
    const RowEncoder encoder(parse_tokenizer_files(text::read_text_files(folder), folder, 1 << 20),
                             {.vocab = 1 << 20, .folder = folder});

    const StepTokens tokens = encoder.encode_steps(
        golden.get<std::string>("prompt"), golden.get<std::vector<std::string>>("completions"),
        golden.get<std::string>("separator"));

    EXPECT_EQ(tokens.ids, golden.get<std::vector<std::int64_t>>("token_ids")) << line;
    const auto [ends, labels] = steps_of(golden.get<std::vector<std::int64_t>>("token_labels"));
    EXPECT_EQ(tokens.ends, ends) << line;
    EXPECT_EQ(labels, golden.get<std::vector<std::int64_t>>("labels")) << line;
  }
  EXPECT_EQ(lines, 36);
}

TEST_F(StepTokensTest, WithoutASeparatorAStepEndsAtItsLastToken) {
  const StepTokens tokens = encoder_.encode_steps("ab", {"c", "de"}, "");
  EXPECT_THAT(tokens.ids, ElementsAreArray(ids_of("abcde")));
  EXPECT_THAT(tokens.ends, ElementsAre(3, 5));
}

TEST_F(StepTokensTest, APromptBeginsWithOneBosToken) {
  const RowEncoder encoder = encoder_with_bos();
  std::vector<std::int64_t> expected = ids_of("abc\n");
  expected.insert(expected.begin(), kEndId);
  for (const char* prompt : {"ab", "<e>ab"}) {
    const StepTokens tokens = encoder.encode_steps(prompt, {"c"}, "\n");
    EXPECT_EQ(tokens.ids, expected) << prompt;
    EXPECT_THAT(tokens.ends, ElementsAre(5)) << prompt;
  }
  EXPECT_THAT(encoder.encode_steps("", {"c"}, "\n").ends, ElementsAre(3));  // bos is the prompt
}

TEST_F(StepTokensTest, TextsWithoutTokensAreRefused) {
  EXPECT_EQ(why_not_encoded("", {"c"}, "\n"), "its `prompt` has no tokens");
  EXPECT_EQ(why_not_encoded("ab", {"c", ""}, ""), "one of its steps has no tokens");
  EXPECT_EQ(why_not_encoded("ab", {"", ""}, "\n"), "");
}

TEST_F(StepTokensTest, TextsBeyondTheVocabularyAreRefused) {
  const RowEncoder small(char_folder(), {.vocab = 3});
  EXPECT_EQ(why([&] { small.encode_steps("ab", {"c"}, "a"); }), "");
  EXPECT_THAT(why([&] { small.encode_steps("ab", {"d"}, "a"); }), HasSubstr("token 3 is not in"));
  EXPECT_THAT(why([&] { small.encode_steps("ab", {"c"}, "d"); }), HasSubstr("token 3 is not in"));
}

TEST_F(StepTokensTest, EndsOfDrawnStepsAscendToTheLastToken) {
  EXPECT_EQ(why_not_drawn({4, 6}, "abcd"), "");
  EXPECT_EQ(why_not_drawn({3}, "abcd"), "");  // tokens after the last step are not judged
  const std::vector<std::vector<std::int64_t>> wrong = {{2}, {0}, {4, 4}, {5, 4}, {4, 7}, {-1}};
  for (const std::vector<std::int64_t>& ends : wrong)
    EXPECT_EQ(why_not_drawn(ends, "abcd"), "the ends of its steps do not ascend to its last token")
        << ends.front();
}

TEST_F(StepTokensTest, DrawnTokensHaveTheTextOfTheirSteps) {
  EXPECT_EQ(why_not_drawn({4, 6}, "abc"),
            "its tokens are those of another tokenizer than that of the/folder");
  std::vector<std::int64_t> ids = ids_of("xyab");
  ids.push_back(kEndId);  // a special token has no text
  EXPECT_EQ(why([&] { encoder_.check_step_texts({ids, {5}}, 2, "ab"); }), "");
  EXPECT_THAT(why([&] {
                encoder_.check_step_texts({ids, {5}}, 2, "ab<e>");
              }),
              HasSubstr("another tokenizer"));
  EXPECT_THAT(why([&] {
                encoder_.check_step_texts({{0, kVocab}, {2}}, 1, "");
              }),
              HasSubstr("not in the model's vocabulary"));
}

TEST_F(StepTokensTest, WithoutATokenizerTextsAreNotCompared) {
  const RowEncoder encoder(std::nullopt, {.vocab = 9});
  EXPECT_EQ(why([&] { encoder.check_step_texts({{1, 2, 3}, {2, 3}}, 1, "other"); }), "");
  EXPECT_THAT(why([&] {
                encoder.check_step_texts({{1, 2, 9}, {2, 3}}, 1, "other");
              }),
              HasSubstr("token 9"));
}

}  // namespace
}  // namespace mgpu::rows
