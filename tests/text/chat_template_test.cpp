// Compares chat templates with transformers' jinja2: tests/oracle/chat_template_goldens.py.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::text {
namespace {

using testing::HasSubstr;

const fs::path kHere = MGPU_TEXT_TESTS;

const nlohmann::json& goldens() {
  static const auto kGoldens = nlohmann::json::parse(read_file(kHere / "chats.json"));
  return kGoldens;
}

std::vector<ChatMessage> messages_of(const nlohmann::json& conversation) {
  std::vector<ChatMessage> messages;
  for (const auto& message : conversation)
    messages.push_back({message["role"], message["content"]});
  return messages;
}

ChatOptions options(bool add_generation_prompt) {
  return {.add_generation_prompt = add_generation_prompt,
          .now = goldens()["now"],
          .special_tokens = goldens()["special_tokens"]};
}

/// The result of render(), or the code and reason of its failure.
struct Answer {
  std::string text, code, reason;
};

Answer refusal(const Failure& failure) {
  const auto& lines = failure.report().lines;
  return {"", failure.report().code, lines.empty() ? "" : lines[0]};
}

Answer answer(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
              const ChatOptions& chat_options) {
  try {
    return {chat.render(messages, chat_options), "", ""};
  } catch (const Failure& failure) {
    return refusal(failure);
  }
}

Answer answer(const std::string& jinja, const std::string& content) {
  try {
    return answer(ChatTemplate(jinja), {{"user", content}}, options(false));
  } catch (const Failure& failure) {
    return refusal(failure);
  }
}

struct Counts {
  int equal = 0, both_refuse = 0, only_we_refuse = 0;
  std::string different;
};

void compare(const std::string& name, const std::string& jinja, const nlohmann::json& expected,
             Counts& counts) {
  const ChatTemplate chat(jinja);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (const bool add : {false, true}) {
      const std::string want = expected[i][add ? 1 : 0];
      const Answer got = answer(chat, messages_of(goldens()["conversations"][i]), options(add));
      const bool refused = !got.code.empty();
      if (want.empty() && refused) {
        ++counts.both_refuse;
      } else if (refused && got.reason.find("not supported") != std::string::npos) {
        ++counts.only_we_refuse;
      } else if (!want.empty() && !refused && sha256_hex(got.text).substr(0, 16) == want) {
        ++counts.equal;
      } else {
        counts.different +=
            name + " " + std::to_string(i) + (add ? "+" : "") + ": " + got.text + got.reason + "\n";
      }
    }
  }
}

TEST(ChatTemplateTest, OwnTemplatesGiveThePythonTextOrItsRefusal) {
  Counts counts;
  for (const auto& [name, expected] : goldens()["templates"].items())
    compare(name, read_file(kHere / "chat_templates" / (name + ".jinja")), expected, counts);

  EXPECT_EQ(counts.different, "");
  EXPECT_EQ(counts.only_we_refuse, 0);
  EXPECT_EQ(counts.equal + counts.both_refuse, 16 * 10 * 2);
}

TEST(ChatTemplateTest, ShippedTemplatesGiveThePythonTextOrARefusal) {
  const fs::path folder = MGPU_SHIPPED_TEMPLATES;
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not here";
  Counts counts;
  for (const auto& [name, expected] : goldens()["shipped"].items())
    compare(name, read_file(folder / (name + ".jinja")), expected, counts);

  EXPECT_EQ(counts.different, "");
  EXPECT_EQ(counts.equal, 1214);
  EXPECT_EQ(counts.both_refuse, 116);
  EXPECT_EQ(counts.only_we_refuse, 70);  // dictsort, int, format, a character by its index
}

TEST(ChatTemplateTest, StripsWhatPythonStrips) {
  EXPECT_EQ(answer("{{ messages[0].content.strip() }}|", "\xC2\xA0 x\xE3\x80\x80\x1c").text, "x|");
  EXPECT_EQ(answer("{{ messages[0].content | trim }}|", "\xE2\x80\xA8x ").text, "x|");
  EXPECT_EQ(answer("{{ messages[0].content.rstrip('x') }}|", "\xC2\xA0 xx").text, "\xC2\xA0 |");
}

TEST(ChatTemplateTest, CountsCharacters) {
  EXPECT_EQ(answer("{{ messages[0].content | length }}", "gr\xC3\xB6\xC3\x9F").text, "4");
}

TEST(ChatTemplateTest, PrintsNoneAndTrueAsPython) {
  EXPECT_EQ(answer("{{ tools }} {{ true }} {{ 1 ~ none }} {{ nothing }}", "").text,
            "None True 1None ");
}

TEST(ChatTemplateTest, RefusesWhatPythonRefuses) {
  EXPECT_EQ(answer("{{ messages[7].content }}", "").code, "E545");
  EXPECT_EQ(answer("{{ 'a' + nothing }}", "").code, "E545");
  EXPECT_EQ(answer("{{ 'a' + 1 }}", "").code, "E545");
  EXPECT_EQ(answer("{% if %}", "").code, "E544");
  const Answer raised = answer("{{ raise_exception('not like this') }}", "");
  EXPECT_THAT(raised.reason, HasSubstr("not like this"));
}

TEST(ChatTemplateTest, RefusesByNameWhatWouldBecomeAnotherText) {
  const auto reason = [](const std::string& jinja) { return answer(jinja, "\xC3\xA9").reason; };
  EXPECT_THAT(reason("{{ messages }}"), HasSubstr("printing a value of type Array"));
  EXPECT_THAT(reason("{{ 0.1 }}"), HasSubstr("printing a value of type Float"));
  EXPECT_THAT(reason("{{ messages[0].content | upper }}"), HasSubstr("`upper` of a text outside"));
  EXPECT_THAT(reason("{{ messages[0].content[:1] }}"), HasSubstr("a part of a text outside"));
  EXPECT_THAT(reason("{{ messages[0].content | indent }}"), HasSubstr("filter `indent`"));
  EXPECT_THAT(reason("{{ messages[0].content.format(1) }}"), HasSubstr("method `format`"));
  EXPECT_THAT(reason("{{ messages.append(1) }}"), HasSubstr("method `append`"));
  EXPECT_THAT(reason("{{ messages is callable }}"), HasSubstr("test `callable`"));
}

TEST(ChatTemplateTest, RefusesMembersThatTheTemplateNames) {
  const ChatTemplate chat("{{ messages[0].content }}{{ messages[0].tool_calls }}");
  EXPECT_EQ(answer(chat, {{"user", "a", {"weight", "tool", ""}}}, options(false)).text, "a");
  const Answer refused = answer(chat, {{"user", "a", {"weight", "tool_calls"}}}, options(false));
  EXPECT_EQ(refused.code, "E545");
  EXPECT_THAT(refused.reason, HasSubstr("a message has `tool_calls`, which the template names"));
}

TEST(ChatTemplateTest, RefusesAnEmptyConversationAndBrokenText) {
  const ChatTemplate chat("{{ messages[0].content }}");
  EXPECT_EQ(answer(chat, {}, options(false)).code, "E545");
  EXPECT_EQ(answer(chat, {{"user", "a\xFF"}}, options(false)).code, "E543");
}

}  // namespace
}  // namespace mgpu::text
