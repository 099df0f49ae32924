#include <algorithm>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "input/made_file.hpp"
#include "recipes/lm/examples.hpp"
#include "support/project_folder.hpp"

namespace mgpu::recipes {
namespace {

constexpr std::int64_t kVocab = 528;

class ExampleEncoderTest : public testing::Test {
protected:
  text::TextFolder folder_ = text::parse_text_folder(
      text::read_text_files(testing_support::tiny_lm()), testing_support::tiny_lm());

  lm::LmExamples encode(const std::string& lines, std::int64_t seq_len = 64) {
    const input::MadeFile file("data.jsonl", lines);
    ExampleEncoder encoder(folder_, seq_len, {.vocab = kVocab});
    return encode_examples(file.options, encoder).examples;
  }

  /// Returns the learned tokens of an example as text, including the eos token.
  std::string learned(const lm::LmExamples& examples, std::size_t example) const {
    std::vector<text::TokenId> ids;
    for (std::int64_t i = examples.begin(example); i < examples.ends[example]; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (examples.is_learned[at] != 0) ids.push_back(static_cast<text::TokenId>(examples.ids[at]));
    }
    return folder_.tokenizer.decode(ids, false);
  }

  /// Encodes a file of these lines. Returns the lines of the report if that fails; otherwise "".
  std::string refusal(const std::string& lines, std::int64_t seq_len = 64) {
    try {
      encode(lines, seq_len);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E531");
      std::string text;
      for (const std::string& line : failure.report().lines)
        text += line;
      return text;
    }
    return "";
  }
};

TEST_F(ExampleEncoderTest, OnlyTheCompletionIsLearned) {
  const auto examples = encode(R"({"prompt": "3 + 4 =", "completion": " 7"})");

  ASSERT_EQ(examples.size(), 1U);
  EXPECT_EQ(learned(examples, 0), " 7<|endoftext|>");
}

TEST_F(ExampleEncoderTest, ATemplateMakesPromptsAndCompletionsOfLabelledTexts) {
  const input::MadeFile file("data.csv", "tweet,class\n3 + 4,0\n\"5, 6\",1\n");
  input::RowOptions options = file.options;
  options.columns = {{"text", "tweet"}, {"label", "class"}};
  ExampleEncoder encoder(folder_, 64, {.vocab = kVocab});
  encoder.set_template(
      {"Say {tweet}:", rows::LabelNames{{"sum", "list"}, {"0", "1"}}, options.columns});
  const lm::LmExamples made = encode_examples(options, encoder).examples;

  const lm::LmExamples by_hand = encode(
      "{\"prompt\": \"Say 3 + 4:\", \"completion\": \" sum\"}\n"
      "{\"prompt\": \"Say 5, 6:\", \"completion\": \" list\"}\n");
  EXPECT_EQ(made.ids, by_hand.ids);
  EXPECT_EQ(made.is_learned, by_hand.is_learned);
  EXPECT_EQ(learned(made, 0), " sum<|endoftext|>");
}

TEST_F(ExampleEncoderTest, ATemplateNamesALabelThatItDoesNotKnow) {
  const input::MadeFile file("data.csv", "tweet,class\na,7\n");
  input::RowOptions options = file.options;
  options.columns = {{"text", "tweet"}, {"label", "class"}};
  ExampleEncoder encoder(folder_, 64, {.vocab = kVocab});
  encoder.set_template({"{text}:", rows::LabelNames{{"sum"}, {"0"}}, options.columns});
  try {
    encode_examples(options, encoder);
    FAIL() << "was accepted";
  } catch (const Failure& failure) {
    EXPECT_NE(failure.report().lines.front().find("`class` is \"7\", which is none of \"0\" (sum)"),
              std::string::npos);
  }
}

TEST_F(ExampleEncoderTest, LearningBeginsWhereTheCompletionChangesATokenOfThePrompt) {
  // The tokenizer encodes " lamp" as one token, which the prompt "Write la" does not have.
  const auto examples = encode(R"({"prompt": "Write la", "completion": "mp"})");

  EXPECT_EQ(learned(examples, 0), " lamp<|endoftext|>");
}

TEST_F(ExampleEncoderTest, ATextIsLearnedWhole) {
  const auto examples = encode(R"({"text": "Mia was a small cat."})");

  EXPECT_EQ(learned(examples, 0), "Mia was a small cat.<|endoftext|>");
}

TEST_F(ExampleEncoderTest, WhatTheAssistantSaysIsLearned) {
  folder_.chat_template =
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.role == 'assistant' %}"
      "{{ eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
  lm::LmExamples examples;
  try {
    examples = encode(R"({"messages": [{"role": "user", "content": "Who was Mia?"},)"
                      R"( {"role": "assistant", "content": "A small cat."},)"
                      R"( {"role": "user", "content": "Where?"},)"
                      R"( {"role": "assistant", "content": "It was near the river."}]})");
  } catch (const Failure& failure) {
    if (failure.report().code == "E546") GTEST_SKIP() << "no chat templates in this build";
    throw;
  }

  EXPECT_EQ(learned(examples, 0), "A small cat.<|endoftext|>It was near the river.<|endoftext|>");
}

TEST_F(ExampleEncoderTest, ALongTextIsCutAndEveryTokenLearnedOnce) {
  const std::string text = "Mia was a small cat. One day Mia found a red lamp near the river.";
  const auto whole = encode("{\"text\": \"" + text + "\"}");
  const auto cut = encode("{\"text\": \"" + text + "\"}", 8);

  ASSERT_GT(cut.size(), 2U);
  std::vector<std::int64_t> joined(cut.ids.begin(), cut.ids.begin() + cut.ends[0]);
  for (std::size_t e = 1; e < cut.size(); ++e) {
    EXPECT_EQ(cut.ids[static_cast<std::size_t>(cut.begin(e))], joined.back());
    EXPECT_GE(cut.length(e), 2);
    joined.insert(joined.end(), cut.ids.begin() + cut.begin(e) + 1, cut.ids.begin() + cut.ends[e]);
  }
  EXPECT_EQ(joined, whole.ids);
}

TEST_F(ExampleEncoderTest, ALongCompletionIsRefusedWithItsLine) {
  const std::string lines = R"({"text": "Mia was a cat."})"
                            "\n"
                            R"({"prompt": "Count from 1 to 6:", "completion": " 1 2 3 4 5 6"})";

  const std::string refused = refusal(lines, 12);

  EXPECT_NE(refused.find("data.jsonl:2: it has "), std::string::npos) << refused;
  EXPECT_NE(refused.find("more than train.seq_len (12)"), std::string::npos) << refused;
}

TEST_F(ExampleEncoderTest, LinesThatTeachNothingAreRefused) {
  EXPECT_NE(refusal(R"({"question": "?"})").find("none of `prompt`"), std::string::npos);
  EXPECT_NE(refusal(R"({"text": "a", "prompt": "b"})").find("more than one of"), std::string::npos);
  EXPECT_NE(refusal(R"({"prompt": "a", "completion": ""})").find("is empty"), std::string::npos);
  EXPECT_NE(refusal(R"({"prompt": "a"})").find("`completion` is not a text"), std::string::npos);
  EXPECT_NE(refusal(R"({"text": ""})").find("nothing to learn"), std::string::npos);
  EXPECT_NE(refusal(R"({"messages": [{"role": "user", "content": "a"}]})").find("no chat template"),
            std::string::npos);
}

TEST_F(ExampleEncoderTest, ATableGivesTheExamplesOfItsLines) {
  const input::MadeFile table("data.csv", "question,answer\n3 + 4 =, 7\n1 + 1 =, 2\n");
  input::RowOptions options = table.options;
  options.columns = {{"prompt", "question"}, {"completion", "answer"}};
  ExampleEncoder encoder(folder_, 64, {.vocab = kVocab});

  const EncodedExamples of_table = encode_examples(options, encoder);

  const auto of_lines = encode(R"({"prompt": "3 + 4 =", "completion": " 7"})"
                               "\n"
                               R"({"prompt": "1 + 1 =", "completion": " 2"})");
  EXPECT_EQ(of_table.examples.ids, of_lines.ids);
  EXPECT_EQ(of_table.examples.is_learned, of_lines.is_learned);
  EXPECT_EQ(of_table.bad_rows, 0);
}

TEST_F(ExampleEncoderTest, MarkedRowsAreLeftOutAndCounted) {
  const input::MadeFile file("data.jsonl",
                             "{\"text\": \"Mia was a cat.\"}\n\n{\"text\": \"\"}\n"
                             "{\"text\": \"Tom was a dog.\"}\n{\"prompt\": \"a\"}\n");
  input::RowOptions options = file.options;
  options.on_bad_row = input::BadRow::mark;
  ExampleEncoder encoder(folder_, 64, {.vocab = kVocab});

  const EncodedExamples encoded = encode_examples(options, encoder);

  ASSERT_EQ(encoded.examples.size(), 2U);
  EXPECT_EQ(learned(encoded.examples, 1), "Tom was a dog.<|endoftext|>");
  EXPECT_EQ(encoded.bad_rows, 3);
  EXPECT_TRUE(encoded.first_bad.ends_with("data.jsonl:2: it is an empty line"))
      << encoded.first_bad;
}

TEST_F(ExampleEncoderTest, AFileOfBadRowsAloneIsRefused) {
  const input::MadeFile file("data.jsonl", "{\"text\": \"\"}\n");
  input::RowOptions options = file.options;
  options.on_bad_row = input::BadRow::mark;
  ExampleEncoder encoder(folder_, 64, {.vocab = kVocab});

  EXPECT_THROW(encode_examples(options, encoder), Failure);
}

TEST_F(ExampleEncoderTest, StartAndCountChooseRows) {
  const input::MadeFile file("data.jsonl",
                             "{\"text\": \"one\"}\n{\"text\": \"Mia was a cat.\"}\n"
                             "{\"text\": \"two\"}\n");
  input::RowOptions options = file.options;
  options.start = 1;
  options.max_samples = 1;
  ExampleEncoder encoder(folder_, 64, {.vocab = kVocab});

  const EncodedExamples encoded = encode_examples(options, encoder);

  ASSERT_EQ(encoded.examples.size(), 1U);
  EXPECT_EQ(learned(encoded.examples, 0), "Mia was a cat.<|endoftext|>");
}

TEST_F(ExampleEncoderTest, APromptAloneHasItsTextsAndNothingToLearn) {
  ExampleEncoder encoder(folder_, 12, {.vocab = kVocab});
  lm::LmExamples prompts;

  encoder.add_prompt(formats::parse_json_object(R"({"prompt": "3 + 4 =", "answer": "7"})"), 4,
                     prompts);
  encoder.add_prompt(formats::parse_json_object(R"({"prompt": "1 + 2 =", "answer": 3})"), 4,
                     prompts);
  encoder.add_prompt(formats::parse_json_object(R"({"token_ids": [20, 21]})"), 10, prompts);

  EXPECT_EQ(prompts.size(), 3U);
  EXPECT_EQ(prompts.texts["prompt"][0], "3 + 4 =");
  EXPECT_EQ(prompts.texts["answer"], (std::vector<std::string>{"7", "3", ""}));
  EXPECT_EQ(prompts.predictions(1), 0);
  EXPECT_EQ(prompts.length(2), 2);
  const std::vector<text::TokenId> ids{20, 21};
  EXPECT_EQ(folder_.tokenizer.decode(ids, false), prompts.texts["prompt"][2]);
  EXPECT_THROW(
      encoder.add_prompt(formats::parse_json_object(R"({"prompt": "3 + 4 ="})"), 11, prompts),
      formats::JsonError);
  EXPECT_EQ(prompts.size(), 3U);
}

}  // namespace
}  // namespace mgpu::recipes
