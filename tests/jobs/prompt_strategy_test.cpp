// Tests files of prompt strategies, and their templates.
#include "jobs/classify/prompt_strategy.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/rows/prompt_template.hpp>

namespace mgpu::jobs {
namespace {

constexpr const char* kFile = R"({"strategies": {
  "plain": {"system_prompt": "You judge texts.", "user_template": "Text: {text}",
            "parameters": {"max_tokens": 32, "temperature": 0.1, "top_p": 0.9}},
  "grouped": {"user_template": "{target_group}: {text}", "answer_prefix": "Label:"}}})";

std::string fill(const std::string& text, const char* row) {
  return rows::fill_template(text, formats::parse_json_object(row), {{"group", "target_group"}});
}

std::string refusal(const std::string& file, const std::string& name) {
  try {
    parse_strategy("prompts.json", file, name);
  } catch (const Failure& failure) {
    return failure.report().code + " " + failure.report().sentence + "; " + failure.report().help;
  }
  return "";
}

TEST(PromptStrategyTest, StrategiesAreReadByName) {
  const PromptStrategy plain = parse_strategy("prompts.json", kFile, "plain");
  EXPECT_EQ(plain.system_prompt, "You judge texts.");
  EXPECT_EQ(plain.user_template, "Text: {text}");
  EXPECT_EQ(plain.max_tokens, 32);
  EXPECT_EQ(plain.temperature, 0.1);
  EXPECT_EQ(plain.top_p, 0.9);
  const PromptStrategy grouped = parse_strategy("prompts.json", kFile, "grouped");
  EXPECT_EQ(grouped.answer_prefix, "Label:");
  EXPECT_EQ(grouped.temperature, 0.0);
}

TEST(PromptStrategyTest, ATemplateByItself) {
  const PromptStrategy strategy = parse_strategy("short.txt", "Text: {text}\nLabel:\n", "");
  EXPECT_EQ(strategy.name, "short");
  EXPECT_EQ(strategy.user_template, "Text: {text}\nLabel:");
}

TEST(PromptStrategyTest, ATemplateIsAlsoATextItself) {
  const PromptStrategy strategy = template_strategy("Text: {text}\nLabel:\n");
  EXPECT_EQ(strategy.name, "template");
  EXPECT_EQ(strategy.user_template, "Text: {text}\nLabel:");
}

TEST(PromptStrategyTest, ALabelThatIsNoneOfThemIsNamedWithColumnAndChoices) {
  const rows::LabelNames labels{{"hate", "offensive"}, {"0", "1"}};
  const auto label_of = [&](const char* row) {
    return labels.label_of(formats::parse_json_object(row), {{"label", "class"}});
  };
  EXPECT_EQ(label_of(R"({"label": 1})"), 1U);
  EXPECT_EQ(label_of(R"({"label": "0"})"), 0U);
  try {
    label_of(R"({"label": 3})");
    FAIL() << "was accepted";
  } catch (const formats::JsonError& error) {
    EXPECT_EQ(error.why(), "`class` is \"3\", which is none of \"0\" (hate), \"1\" (offensive)");
  }
}

TEST(PromptStrategyTest, WhatCannotBeUsedIsNamed) {
  EXPECT_NE(refusal(kFile, "plane").find("no strategy `plane`; classify.strategy=plain"),
            std::string::npos);
  EXPECT_NE(refusal(kFile, "").find("it has 2 strategies"), std::string::npos);
  EXPECT_NE(refusal(R"({"strategies": {"a": {"user_template": "x"}}})", "").find("no {text}"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"strategies": {"a": {"user_template": "{text}",
                                            "parameters": {"temperature": -1}}}})",
                    "")
                .find("`temperature` is not a number in its range"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"prompts": {}})", "").find("it has no `strategies`"), std::string::npos);
}

TEST(PromptStrategyTest, TemplatesTakeColumnsUnderBothNames) {
  EXPECT_EQ(fill("{text} ({group}, {target_group}, {n})",
                 R"({"text": "a {group}", "group": "g", "n": 3})"),
            "a {group} (g, g, 3)");
  EXPECT_EQ(fill(R"({{"classification": "{text}"}} {not a column} {)", R"({"text": "x"})"),
            R"({"classification": "x"} {not a column} {)");
}

TEST(PromptStrategyTest, AColumnThatTheRowLacksIsAnError) {
  EXPECT_THROW(fill("{text} {persona_tag}", R"({"text": "x"})"), formats::JsonError);
  EXPECT_THROW(fill("{text}", R"({"text": null})"), formats::JsonError);
}

}  // namespace
}  // namespace mgpu::jobs
