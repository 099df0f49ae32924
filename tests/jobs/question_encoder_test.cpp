// Tests how questions become the prompts of agents.
#include "jobs/collect/question_encoder.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "rows/char_tokenizer.hpp"

namespace mgpu::jobs {
namespace {

using rows::test::char_files;
using rows::test::char_folder;
using rows::test::ids_of;
using rows::test::kEndId;
using rows::test::row_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kRow = R"({"prompt": "ab"})";
constexpr const char* kChat =
    "{% for message in messages %}{{ message.role }}:{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}";

const std::vector<Agent> kAgents = {{"planner", "", "p {question}."},
                                    {"critic", "", "c {context}"},
                                    {"judger", "", "{question} {context}?"}};

/// Returns the options of agents with 3 latent steps, or with texts of 6 tokens.
AgentEncoder::Options options_of(AgentMethod method, Carry carry = Carry::all) {
  AgentEncoder::Options options{{}, kAgents, 6};
  options.keys.is_used = true;
  options.keys.method = method;
  options.keys.carry = carry;
  options.keys.steps = 3;
  return options;
}

Question encoded(AgentEncoder::Options options, const char* row = kRow,
                 const std::string& chat = "") {
  return AgentEncoder(char_folder(chat), std::move(options)).encode(row_of(row));
}

std::string reason_of(AgentEncoder::Options options, const char* row = kRow,
                      const std::string& chat = "") {
  const Question question = encoded(std::move(options), row, chat);
  EXPECT_EQ(question.facts.status, rows::RowStatus::bad_row);
  EXPECT_THAT(question.agents, IsEmpty());
  EXPECT_THAT(question.ids, IsEmpty());
  return question.facts.reason;
}

TEST(AgentEncoderTest, AgentsWithLatentStepsGetPromptsWithoutTexts) {
  const Question question = encoded(options_of(AgentMethod::latent_mas));

  ASSERT_THAT(question.agents, SizeIs(3));
  EXPECT_EQ(question.agents[0].before, ids_of("p ab."));
  EXPECT_EQ(question.agents[1].before, ids_of("c "));
  EXPECT_EQ(question.agents[2].before, ids_of("ab ?"));
  for (const AgentPrompt& prompt : question.agents)
    EXPECT_THAT(prompt.after, IsEmpty());
  EXPECT_EQ(question.ids, ids_of("p ab.c ab ?"));
  EXPECT_EQ(question.text, "ab");
  EXPECT_EQ(question.facts.reason, "");
}

TEST(AgentEncoderTest, TextsOfAgentsStandBetweenTheTwoPartsOfAPrompt) {
  const Question question = encoded(options_of(AgentMethod::text_mas));

  EXPECT_EQ(question.agents[1].before, ids_of("c "));
  EXPECT_THAT(question.agents[1].after, IsEmpty());
  EXPECT_EQ(question.agents[2].before, ids_of("ab "));
  EXPECT_EQ(question.agents[2].after, ids_of("?"));
  EXPECT_EQ(question.agents[2].size(), 4);
}

TEST(AgentEncoderTest, TheJudgerAloneHasItsPromptWithoutContext) {
  const AgentEncoder encoder(char_folder(), options_of(AgentMethod::single));

  ASSERT_THAT(encoder.agents(), SizeIs(1));
  EXPECT_EQ(encoder.agents()[0].name, "judger");
  const Question question = encoder.encode(row_of(kRow));
  ASSERT_THAT(question.agents, SizeIs(1));
  EXPECT_EQ(question.ids, ids_of("ab ?"));
  EXPECT_EQ(question.longest, 4);
}

TEST(AgentEncoderTest, TheLongestSequenceDependsOnWhatAnAgentGets) {
  // The prompts have 5, 2 and 4 tokens; all agents but the judger add 3 latent steps.
  const auto longest = [](Carry carry) {
    return encoded(options_of(AgentMethod::latent_mas, carry)).longest;
  };
  EXPECT_EQ(longest(Carry::all), (5 + 3) + (2 + 3) + 4);
  EXPECT_EQ(longest(Carry::last_agent), (5 + 3) + (2 + 3));  // the critic's; the judger has 9
  EXPECT_EQ(longest(Carry::latent_only), 3 + 3 + 4);
  // A text has 6 tokens and a heading, which is the name between two line breaks and a colon.
  EXPECT_EQ(encoded(options_of(AgentMethod::text_mas)).longest, (10 + 6) + (9 + 6) + 4);
}

TEST(AgentEncoderTest, SystemPromptsComeFirstOrGoThroughTheChatTemplate) {
  AgentEncoder::Options options = options_of(AgentMethod::text_mas);
  options.agents[2].system_prompt = "s";

  EXPECT_EQ(encoded(options).agents[2].before, ids_of("s\n\nab "));
  const Question chat = encoded(options, kRow, kChat);
  EXPECT_EQ(chat.agents[0].before, ids_of("user:p ab.\na:"));
  EXPECT_EQ(chat.agents[2].before, ids_of("system:s\nuser:ab "));
  EXPECT_EQ(chat.agents[2].after, ids_of("?\na:"));
}

/// Returns a folder whose tokenizer puts its special token in front of each sequence.
text::TextFolder folder_with_begin(const std::string& chat = "") {
  text::TextFiles files = char_files(chat);
  const std::string none = R"("post_processor": null)";
  files.tokenizer.replace(files.tokenizer.find(none), none.size(),
                          R"("post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<e>", "type_id": 0}},
                   {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<e>": {"id": "<e>", "ids": [63], "tokens": ["<e>"]}}})");
  return text::parse_text_folder(files, "folder");
}

/// Returns for each agent whether its prompt begins with the special token.
std::vector<bool> begins_of(AgentMethod method, const std::string& chat = "") {
  const AgentEncoder encoder(folder_with_begin(chat), options_of(method));
  std::vector<bool> begins;
  for (const AgentPrompt& prompt : encoder.encode(row_of(kRow)).agents) {
    begins.push_back(prompt.before.front() == kEndId);
    EXPECT_THAT(prompt.after, testing::Not(testing::Contains(kEndId)));
  }
  EXPECT_EQ(encoder.separator("ab"), ids_of("ab"));
  return begins;
}

TEST(AgentEncoderTest, SpecialTokensBeginASequenceUnlessAChatTemplateWritesThem) {
  EXPECT_THAT(begins_of(AgentMethod::latent_mas), ElementsAre(true, false, false));
  EXPECT_THAT(begins_of(AgentMethod::text_mas), ElementsAre(true, true, true));
  EXPECT_THAT(begins_of(AgentMethod::single), ElementsAre(true));
  EXPECT_THAT(begins_of(AgentMethod::latent_mas, kChat), ElementsAre(false, false, false));
}

TEST(AgentEncoderTest, TheLastMessageOfTheUserIsTheQuestion) {
  const Question question = encoded(options_of(AgentMethod::single), R"({"messages": [
      {"role": "user", "content": "x"}, {"role": "assistant", "content": "y"},
      {"role": "user", "content": "z"}, {"role": "assistant", "content": "w"}]})");
  EXPECT_EQ(question.text, "z");
  EXPECT_EQ(question.ids, ids_of("z ?"));
}

TEST(AgentEncoderTest, RowsThatCannotBeUsedSayWhy) {
  const AgentEncoder::Options options = options_of(AgentMethod::text_mas);
  EXPECT_EQ(reason_of(options, R"({"token_ids": [1]})"),
            "agents need a question as text, and it has token ids");
  EXPECT_EQ(reason_of(options, R"({"messages": [{"role": "system", "content": "a"}]})"),
            "its messages have no question of a user");
  EXPECT_EQ(reason_of(options, R"({"prompt": "a\u0002b"})"),
            "its question has the control character U+0002");
  EXPECT_THAT(reason_of(options, R"({"prompt": 3})"), HasSubstr("`prompt`"));
  input::Row row = row_of(kRow);
  row.problem = "it is an empty line";
  EXPECT_EQ(AgentEncoder(char_folder(), options).encode(row).facts.reason, "it is an empty line");

  AgentEncoder::Options without_begin = options;
  without_begin.agents[2].prompt = "{context}{question}";
  EXPECT_EQ(reason_of(without_begin), "the prompt of agent `judger` begins without a token");
}

TEST(QuestionEncoderTest, WithoutAgentsTheQuestionIsThePrompt) {
  const auto prompts = [] {
    return rows::PromptEncoder(char_files(), "folder", {.vocab = rows::test::kVocab});
  };
  QuestionEncoder plain(prompts(), std::nullopt);
  EXPECT_EQ(plain.agents(), nullptr);
  const Question question = plain.question(row_of(kRow));
  EXPECT_THAT(question.agents, IsEmpty());
  EXPECT_EQ(question.ids, ids_of("ab"));
  EXPECT_EQ(question.longest, 2);

  QuestionEncoder agents(prompts(),
                         AgentEncoder(char_folder(), options_of(AgentMethod::latent_mas)));
  ASSERT_NE(agents.agents(), nullptr);
  EXPECT_THAT(agents.question(row_of(kRow)).agents, SizeIs(3));
}

}  // namespace
}  // namespace mgpu::jobs
