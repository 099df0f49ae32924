// Tests that chat templates which would crash, never end, or take all memory are refused with a
// reason, within two seconds of processor time.
#include <algorithm>
#include <ctime>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::text {
namespace {

using testing::HasSubstr;

std::string times(std::size_t count, const std::string& part) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i)
    all += part;
  return all;
}

/// The rendered text, or the code and reason of the refusal.
struct Answer {
  std::string text, code, reason;
  double processor_s = 0.0;
};

Answer answer(const std::string& jinja, const std::string& content = "hello") {
  const std::clock_t begin = std::clock();
  Answer answer;
  try {
    answer.text = ChatTemplate(jinja).render({{"user", content}}, {});
  } catch (const Failure& failure) {
    answer.code = failure.report().code;
    answer.reason = failure.report().lines.at(0);
  }
  answer.processor_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return answer;
}

/// Processor time within which a template is refused. Sanitizers make a program slower.
#ifdef __SANITIZE_ADDRESS__
constexpr double kRefusedWithin_s = 20.0;
#else
constexpr double kRefusedWithin_s = 2.0;
#endif

/// Returns the answer with the least processor time of up to three tries, because other processes
/// can slow down one of them.
Answer refused_answer(const std::string& jinja) {
  Answer refused = answer(jinja);
  for (int more = 0; more < 2 && refused.processor_s >= kRefusedWithin_s; ++more)
    refused.processor_s = std::min(refused.processor_s, answer(jinja).processor_s);
  return refused;
}

/// A template, and a part of the reason for which it is refused.
struct Hostile {
  std::string name, jinja, reason;
};

void PrintTo(const Hostile& hostile, std::ostream* out) {
  *out << hostile.name;
}

class DeepTemplateTest : public testing::TestWithParam<Hostile> {};

TEST_P(DeepTemplateTest, IsRefusedBeforeItIsParsed) {
  const Answer refused = refused_answer(GetParam().jinja);
  EXPECT_EQ(refused.code, "E544");
  EXPECT_THAT(refused.reason, HasSubstr(GetParam().reason));
  EXPECT_LT(refused.processor_s, kRefusedWithin_s);
}

const std::string kNestedOperations = "nested operations";
const Hostile kDeepTemplates[] = {
    {"parentheses", "{{ " + times(5000, "(") + "1" + times(5000, ")") + " }}", kNestedOperations},
    {"brackets", "{{ " + times(20'000, "[") + " }}", kNestedOperations},
    {"braces", "{{ " + times(5000, "{1:") + " }}", kNestedOperations},
    {"nots", "{{ " + times(20'000, "not ") + "1 }}", kNestedOperations},
    {"signs", "{{ " + times(20'000, "-") + "1 }}", kNestedOperations},
    {"sums", "{{ 1" + times(20'000, "+1") + " }}", kNestedOperations},
    {"filters", "{{ 'a'" + times(20'000, "|trim") + " }}", kNestedOperations},
    {"members", "{{ a" + times(20'000, ".a") + " }}", kNestedOperations},
    {"calls", "{{ a" + times(20'000, "()") + " }}", kNestedOperations},
    {"items", "{{ a" + times(20'000, "[0]") + " }}", kNestedOperations},
    {"choices", "{{ 1" + times(20'000, " if 1 else 1") + " }}", kNestedOperations},
    {"tests", "{{ 1" + times(20'000, " is odd") + " }}", kNestedOperations},
    {"ifs", times(20'000, "{% if true %}"), "nested blocks"},
    {"elifs", "{% if true %}" + times(20'000, "{% elif true %}") + "{% endif %}", "nested blocks"},
    {"loops", times(20'000, "{% for i in x %}"), "nested blocks"},
    {"macros", times(20'000, "{% macro f() %}"), "nested blocks"},
    {"set_blocks", times(20'000, "{% set x %}"), "nested blocks"},
    {"bytes", times(2'000'000, "x"), "more than 1048576 bytes"},
};
INSTANTIATE_TEST_SUITE_P(Source, DeepTemplateTest, testing::ValuesIn(kDeepTemplates),
                         [](const auto& of) { return of.param.name; });

class EndlessTemplateTest : public testing::TestWithParam<Hostile> {};

TEST_P(EndlessTemplateTest, IsRefusedWhenItIsRendered) {
  const Answer refused = refused_answer(GetParam().jinja);
  const bool is_limit = GetParam().reason.find("more than") != std::string::npos ||
                        GetParam().reason.find("MiB") != std::string::npos;
  EXPECT_EQ(refused.code, is_limit ? "E547" : "E545");
  EXPECT_THAT(refused.reason, HasSubstr(GetParam().reason));
  EXPECT_LT(refused.processor_s, kRefusedWithin_s);
}

const std::string kSteps = "more than 1000000 steps";
const std::string kDouble = "{% set ns = namespace(s='0123456789') %}{% for i in range(60) %}";
const Hostile kEndlessTemplates[] = {
    {"macro_that_calls_itself", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
     "nested more than 100 deep"},
    {"macros_that_call_each_other_twice",
     "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
     kSteps},
    {"long_range", "{% for i in range(1000000000) %}{% endfor %}", "a list of more than"},
    {"long_range_down", "{% for i in range(0, -1000000000, -1) %}{% endfor %}",
     "a list of more than"},
    {"range_that_overflows", "{{ range(9223372036854775807) | length }}", "not supported"},
    {"renamed_range", "{% set r = range %}{{ r(1000000000) | length }}", "without a call"},
    {"two_loops", "{% for i in range(30000) %}{% for j in range(30000) %}{% endfor %}{% endfor %}",
     kSteps},
    {"loop_whose_condition_is_false",
     "{% for i in range(90000) %}{% for j in range(90000) if false %}{% endfor %}{% endfor %}",
     kSteps},
    {"text_that_doubles", kDouble + "{% set ns.s = ns.s ~ ns.s %}{% endfor %}", "MiB"},
    {"text_that_doubles_with_plus", kDouble + "{% set ns.s = ns.s + ns.s %}{% endfor %}", "MiB"},
    {"text_that_is_multiplied", "{{ ('x' * 100000) * 100000 }}", "a text of more than"},
    {"text_that_is_replaced",
     kDouble + "{% set ns.s = ns.s.replace('0', '00000000') %}{% endfor %}", "a text of more than"},
    {"text_that_a_filter_replaces",
     kDouble + "{% set ns.s = ns.s | replace('', 'abcdefgh') %}{% endfor %}",
     "a text of more than"},
    {"text_that_is_split", "{{ ('x,' * 900000).split(',') | length }}", "a list of more than"},
    {"text_that_is_split_at_white_space_by_none", "{{ ('ä b' * 2).split(none) | length }}",
     "`split` at white space"},
    {"list_that_is_joined", "{{ range(90000) | join('x' * 100000) }}", "a text of more than"},
    {"list_that_doubles",
     "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = ns.a + ns.a %}"
     "{% endfor %}",
     "a list of more than"},
    {"list_of_itself_twice",
     "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}{% set ns.a = [ns.a, ns.a] %}"
     "{% endfor %}{{ ns.a | tojson }}",
     kSteps},
    {"list_in_a_list_for_ever",
     "{% set ns = namespace(a=[]) %}{% for i in range(90000) %}{% set ns.a = [ns.a] %}"
     "{% endfor %}",
     "nested more than 64 deep"},
    {"namespace_in_itself", "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns | tojson }}",
     "a namespace inside a namespace"},
    {"namespace_in_a_list_in_itself", "{% set ns = namespace() %}{% set ns.a = [ns] %}",
     "a namespace inside a namespace"},
    {"message_that_is_changed", "{% set m = messages[0] %}{% set m.a = m %}{{ m | tojson }}",
     "only members of a namespace"},
    {"text_that_a_loop_prints",
     "{% for i in range(90000) %}" + times(1000, "abcdefghij") + "{% endfor %}", "MiB"},
    {"text_that_a_loop_reads",
     "{% set s = 'x' * 90000 %}{% for i in range(90000) %}"
     "{% if s.startswith('y') %}{% endif %}{% endfor %}",
     "MiB of texts"},
    {"text_that_is_searched",
     "{% set s = 'x' * 90000 %}{% for i in range(90000) %}{% if 'xy' in s %}{% endif %}"
     "{% endfor %}",
     "MiB of texts"},
    {"slice_whose_step_overflows", "{{ [1, 2, 3][2:1:9223372036854775807] | length }}",
     "not supported"},
    {"division_by_zero", "{{ 1 % 0 }}", "divided by zero"},
};
INSTANTIATE_TEST_SUITE_P(Rendering, EndlessTemplateTest, testing::ValuesIn(kEndlessTemplates),
                         [](const auto& of) { return of.param.name; });

TEST(TemplateLimitsTest, WhatTemplatesNeedIsWithinThem) {
  EXPECT_EQ(answer("{{ " + times(90, "(") + "1" + times(90, ")") + " }}").text, "1");
  EXPECT_EQ(answer("{{ 1" + times(30, " + 1") + " }}").text, "31") << "each sum is computed once";
  EXPECT_EQ(answer("{{ [1] + [2] == [1, 2] }}").text, "True");
  EXPECT_EQ(answer("{% set ns = namespace(n=0) %}{% for i in range(2000) %}"
                   "{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}")
                .text,
            "1999000");
  EXPECT_EQ(answer("{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% else %}x{% endif %}{% endmacro %}"
                   "{{ f(40) }}")
                .text,
            "x");
  EXPECT_EQ(answer("{% set ns = namespace(last=none) %}{% set ns.last = messages[0] %}"
                   "{{ ns.last.content }}")
                .text,
            "hello");
  EXPECT_EQ(answer("{% set ns = namespace() %}{% set ns.s %}a{{ 1 }}{% endset %}{{ ns.s }}").text,
            "a1");
  EXPECT_EQ(answer("{% if range is defined and tojson is defined %}yes{% endif %}").text, "yes");
}

TEST(TemplateLimitsTest, ALongConversationIsWithinThem) {
  std::vector<ChatMessage> messages;
  for (int i = 0; i < 1000; ++i)
    messages.push_back({i % 2 == 0 ? "user" : "assistant", times(200, "0123456789")});
  const ChatTemplate chat(
      "{% for m in messages %}{% if m['role'] == 'user' and loop.index0 % 2 == 0 %}"
      "{{ '<u>' + m['content'] | trim + '</u>' }}{% else %}{{ m.content.strip() }}{% endif %}"
      "{% endfor %}");
  EXPECT_EQ(chat.render(messages, {}).size(), 1000U * 2000 + 500 * 7);
}

}  // namespace
}  // namespace mgpu::text
