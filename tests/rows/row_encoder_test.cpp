// Tests how rows of training data become tokens, and which tokens are learned.
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/rows/row_encoder.hpp>

#include "char_tokenizer.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::rows {
namespace {

using test::char_folder;
using test::ids_of;
using test::kEndId;
using test::kVocab;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

/// The chat template writes "u:TEXT\n" for the user, and "a:TEXT!" for the assistant.
constexpr const char* kChat =
    "{% for m in messages %}{% if m.role == 'assistant' %}a:{{ m.content }}!"
    "{% else %}u:{{ m.content }}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}";

class RowEncoderTest : public testing::Test {
protected:
  LearnedText encode(const std::string& json) { return encoder_.encode(test::row_of(json).object); }

  /// Returns the learned tokens as text, with `.` for a token that is not learned, and `$` for the
  /// end.
  static std::string shown(const LearnedText& text) {
    std::string shown;
    for (std::size_t i = 0; i < text.ids.size(); ++i)
      shown += text.is_learned[i] == 0 ? '.'
               : text.ids[i] == kEndId ? '$'
                                       : test::kAlphabet[static_cast<std::size_t>(text.ids[i])];
    return shown;
  }

  LearnedPair pair(const std::string& json) {
    return encoder_.encode_pair(test::row_of(json).object);
  }

  std::string why_no_pair(const std::string& json) {
    try {
      pair(json);
    } catch (const formats::JsonError& error) {
      return error.why();
    }
    return "";
  }

  std::string why(const std::string& json) {
    try {
      encode(json);
    } catch (const formats::JsonError& error) {
      return error.why();
    }
    return "";
  }

  RowEncoder encoder_{char_folder(kChat), {.vocab = kVocab}};
};

TEST_F(RowEncoderTest, ACompletionIsLearnedAndItsPromptIsNot) {
  const LearnedText text = encode(R"({"prompt": "one", "completion": " two"})");

  EXPECT_EQ(shown(text), "... two$");
  EXPECT_THAT(std::vector(text.ids.begin(), text.ids.end() - 1),
              ElementsAreArray(ids_of("one two")));
}

TEST_F(RowEncoderTest, AnEmptyPromptTeachesAll) {
  EXPECT_EQ(shown(encode(R"({"prompt": "", "completion": "two"})")), "two$");
}

TEST_F(RowEncoderTest, ACompletionHasToBeThere) {
  EXPECT_EQ(why(R"({"prompt": "one", "completion": ""})"), "its completion is empty");
  EXPECT_EQ(why(R"({"prompt": "one"})"), "`completion` is not a text");
  EXPECT_EQ(why(R"({"prompt": 1, "completion": "two"})"), "`prompt` is not a text");
}

TEST_F(RowEncoderTest, ATextIsLearnedWholeAndEndsOnce) {
  EXPECT_EQ(shown(encode(R"({"text": "abc"})")), "abc$");
  EXPECT_EQ(shown(encode(R"({"text": "abc<e>"})")), "abc$");
}

TEST_F(RowEncoderTest, TextsEndWhereTheyEndIfNobodyAsksForMore) {
  RowEncoder encoder(char_folder(), {.vocab = kVocab, .ends_texts = false});
  const LearnedText text = encoder.encode(test::row_of(R"({"text": "abc"})").object);

  EXPECT_THAT(text.ids, ElementsAreArray(ids_of("abc")));
  EXPECT_THAT(text.is_learned, Each(1));
  const auto whole = encoder.encode(test::row_of(R"({"prompt": "a", "completion": "b"})").object);
  EXPECT_EQ(whole.ids.back(), kEndId);  // a completion still ends with the eos token
}

TEST_F(RowEncoderTest, TokenIdsAreLearnedAsTheyAre) {
  const LearnedText text = encode(R"({"token_ids": [5, 0, 5]})");

  EXPECT_THAT(text.ids, ElementsAre(5, 0, 5));
  EXPECT_THAT(text.is_learned, ElementsAre(1, 1, 1));
}

TEST_F(RowEncoderTest, CompletionIdsAreLearnedAfterTokenIds) {
  const LearnedText text = encode(R"({"token_ids": [5, 0], "completion_ids": [7, 8, 5]})");

  EXPECT_THAT(text.ids, ElementsAre(5, 0, 7, 8, 5));
  EXPECT_THAT(text.is_learned, ElementsAre(0, 0, 1, 1, 1));
  EXPECT_EQ(why(R"({"token_ids": [5], "completion_ids": []})"),
            "`completion_ids` is not a list of ids");
}

TEST_F(RowEncoderTest, WhatTheAssistantSaysIsLearned) {
  const LearnedText text = encode(
      R"({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"},
                       {"role": "user", "content": "so"}, {"role": "assistant", "content": "no"}]})");

  EXPECT_EQ(shown(text), ".......yes!.......no!");
}

TEST_F(RowEncoderTest, MessagesWithoutAnAnswerTeachNothing) {
  EXPECT_THAT(encode(R"({"messages": [{"role": "user", "content": "hi"}]})").is_learned, Each(0));
}

TEST_F(RowEncoderTest, TheAssistantDoesNotBegin) {
  EXPECT_EQ(why(R"({"messages": [{"role": "assistant", "content": "yes"}]})"),
            "`messages` begins with the assistant");
}

TEST_F(RowEncoderTest, ATemplateThatWritesAMessageInTwoWaysIsRefused) {
  RowEncoder encoder(char_folder("{{ messages | length }}{% for m in messages %}{{ m.content }}"
                                 "{% endfor %}"),
                     {.vocab = kVocab});
  const auto row = test::row_of(
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})");
  try {
    encoder.encode(row.object);
    FAIL() << "was taken";
  } catch (const formats::JsonError& error) {
    EXPECT_THAT(error.why(), HasSubstr("writes message 2 in another way when others follow"));
  }
}

TEST_F(RowEncoderTest, WithoutATemplateThereAreNoMessages) {
  RowEncoder encoder(char_folder(), {.vocab = kVocab});
  const auto row = test::row_of(R"({"messages": [{"role": "user", "content": "a"}]})");
  EXPECT_THROW(encoder.encode(row.object), formats::JsonError);
}

TEST_F(RowEncoderTest, WithoutAFolderThereAreTokenIdsOnly) {
  const testing_support::TemporaryFolder folder;
  RowEncoder encoder(std::nullopt, {.vocab = 9, .folder = folder.path()});
  const auto help = [&] {
    try {
      encoder.encode(test::row_of(R"({"text": "a"})").object);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E603");
      EXPECT_EQ(failure.report().lines.front(), "  --> " + folder.path().string());
      return failure.report().help;
    }
    return std::string();
  };

  EXPECT_THAT(encoder.encode(test::row_of(R"({"token_ids": [8]})").object).ids, ElementsAre(8));
  EXPECT_THAT(help(), HasSubstr("rows of token_ids"));
  std::ofstream(folder.path() / "tokenizer.model") << "pieces";
  EXPECT_THAT(help(), HasSubstr("save_pretrained(sys.argv[1])' " + folder.path().string()));
}

TEST_F(RowEncoderTest, TokensOfAnotherVocabularyAreRefused) {
  EXPECT_EQ(why(R"({"token_ids": [64]})"), "token 64 is not in the model's vocabulary of 64");
  EXPECT_EQ(why(R"({"token_ids": [63, -1]})"), "token -1 is not in the model's vocabulary of 64");
  RowEncoder small(char_folder(), {.vocab = 2});
  EXPECT_THROW(small.encode(test::row_of(R"({"text": "c"})").object), formats::JsonError);
}

TEST_F(RowEncoderTest, BothCompletionsOfAPairAreLearned) {
  const LearnedPair texts = pair(R"({"prompt": "one", "chosen": " two", "rejected": " six."})");

  EXPECT_EQ(shown(texts.chosen), "... two$");
  EXPECT_EQ(shown(texts.rejected), "... six.$");
}

TEST_F(RowEncoderTest, APairOfMessagesContinuesItsPrompt) {
  const LearnedPair apart = pair(
      R"({"prompt": [{"role": "user", "content": "hi"}],
          "chosen": [{"role": "assistant", "content": "yes"}],
          "rejected": [{"role": "assistant", "content": "no"}, {"role": "user", "content": "so"}]})");
  const LearnedPair joined = pair(
      R"({"prompt": "hi",
          "chosen": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}],
          "rejected": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "no"},
                       {"role": "user", "content": "so"}]})");

  EXPECT_EQ(shown(apart.chosen), ".......yes!");
  EXPECT_EQ(shown(apart.rejected), ".......no!u:so\n");
  EXPECT_EQ(apart.chosen.ids, joined.chosen.ids);
  EXPECT_EQ(apart.rejected.ids, joined.rejected.ids);
  EXPECT_EQ(apart.rejected.is_learned, joined.rejected.is_learned);
}

TEST_F(RowEncoderTest, PairsThatCannotBeComparedAreRefused) {
  const std::string chosen = R"({"prompt": "a", "chosen": "b")";
  EXPECT_EQ(why_no_pair(chosen + "}"), "it has no `rejected`");
  EXPECT_EQ(why_no_pair(chosen + R"(, "rejected": null})"), "it has no `rejected`");
  EXPECT_EQ(why_no_pair(chosen + R"(, "rejected": ""})"), "`rejected` is empty");
  EXPECT_EQ(why_no_pair(chosen + R"(, "rejected": [5]})"), "`rejected` is not a text");
  EXPECT_EQ(why_no_pair(chosen + R"(, "rejected": "b"})"),
            "`chosen` and `rejected` are equal, so nothing can be preferred");
  EXPECT_EQ(why_no_pair(chosen + R"(, "rejected": "b<e>"})"),
            "`chosen` and `rejected` are equal, so nothing can be preferred");
  EXPECT_EQ(why_no_pair(R"({"chosen": "b", "rejected": "c"})"), "`prompt` is not a text");
}

TEST_F(RowEncoderTest, PairsOfMessagesNeedOnePrompt) {
  const std::string yes =
      R"({"role": "user", "content": "hi"}, {"role": "assistant", "content": "y"})";
  const std::string no =
      R"({"role": "user", "content": "ho"}, {"role": "assistant", "content": "n"})";
  EXPECT_THAT(why_no_pair("{\"chosen\": [" + yes + "], \"rejected\": [" + no + "]}"),
              HasSubstr("begin with different messages"));
  EXPECT_THAT(why_no_pair("{\"chosen\": [" + yes + "], \"rejected\": \"no\"}"),
              HasSubstr("`rejected` is not a list of messages"));
  EXPECT_THAT(
      why_no_pair("{\"prompt\": \"so\", \"chosen\": [" + yes + "], \"rejected\": [" + yes + "]}"),
      HasSubstr("`prompt` is a text that `chosen` and `rejected` do not both repeat"));
}

TEST_F(RowEncoderTest, TheCompletionOfAJudgedRowIsLearned) {
  const auto judged = [&](const std::string& json) {
    return encoder_.encode_judged(test::row_of(json).object);
  };
  const LearnedText text = judged(R"({"prompt": "one", "completion": " two"})");
  const LearnedText messages = judged(
      R"({"prompt": [{"role": "user", "content": "hi"}],
          "completion": [{"role": "assistant", "content": "yes"}]})");

  EXPECT_EQ(shown(text), "... two$");
  EXPECT_EQ(shown(messages), ".......yes!");
  EXPECT_THROW(judged(R"({"prompt": "a", "completion": [{"role": "user", "content": "b"}]})"),
               formats::JsonError);
  EXPECT_THROW(judged(R"({"prompt": "a"})"), formats::JsonError);
}

TEST_F(RowEncoderTest, WhatIsJudgedEndsAsInTheTraining) {
  const LearnedPair texts = pair(R"({"prompt": "one", "chosen": " two", "rejected": " six"})");
  const LearnedPair messages = pair(
      R"({"prompt": [{"role": "user", "content": "hi"}],
          "chosen": [{"role": "assistant", "content": "yes"}],
          "rejected": [{"role": "assistant", "content": "no"}]})");

  EXPECT_EQ(encoder_.ended_ids("one two"), texts.chosen.ids);
  EXPECT_EQ(encoder_.rendered_ids({{"user", "hi"}, {"assistant", "yes"}}), messages.chosen.ids);
}

TEST_F(RowEncoderTest, ARowOfNothingIsOurBug) {
  EXPECT_THROW(encode(R"({"id": 1})"), Error);
}

}  // namespace
}  // namespace mgpu::rows
