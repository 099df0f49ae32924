// Tests the examples of recipe prm: tokens, labels, questions and pairs of solutions.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/text/text_folder.hpp>

#include "input/made_file.hpp"
#include "recipes/lm/examples.hpp"
#include "recipes/prm/loss.hpp"
#include "recipes/prm/method.hpp"
#include "support/project_folder.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr std::int64_t kVocab = 528;

/// Returns a row of `question` whose only step has the label.
std::string one_step(int question, const char* label) {
  return "{\"prompt\": \"q" + std::to_string(question) +
         "\", \"completions\": [\"step\"], \"labels\": [" + label + "]}\n";
}

class PrmExamplesTest : public testing::Test {
protected:
  text::TextFolder folder_ = text::parse_text_folder(
      text::read_text_files(testing_support::tiny_lm()), testing_support::tiny_lm());

  EncodedExamples encode_file(const std::string& lines, const PrmSettings& settings, RowUse use) {
    const input::MadeFile file("data.jsonl", lines);
    ExampleEncoder encoder(folder_, 64, {.vocab = kVocab, .folder = testing_support::tiny_lm()});
    return encode_examples(file.options, encoder, PrmMethod(settings), use);
  }

  lm::LmExamples encode(const std::string& lines, const PrmSettings& settings = {},
                        RowUse use = RowUse::training) {
    return encode_file(lines, settings, use).examples;
  }

  std::string refusal(const std::string& lines, const PrmSettings& settings = {}) {
    try {
      encode(lines, settings);
    } catch (const Failure& failure) {
      std::string text = failure.report().sentence;
      for (const std::string& line : failure.report().lines)
        text += line;
      return text;
    }
    return "";
  }

  std::vector<std::int64_t> ids_of(const std::string& text) const {
    const auto ids = folder_.tokenizer.encode(text, false);
    return {ids.begin(), ids.end()};
  }
};

TEST_F(PrmExamplesTest, ASeparatorFollowsEachStepAndItsLastTokenIsLearned) {
  const auto examples = encode(
      R"({"prompt": "1 + 2 + 3 =", "completions": ["1 + 2 = 3", "", "#### 7"], "labels": [true, 1, false]})");

  std::vector<std::int64_t> expected = ids_of("1 + 2 + 3 =");
  std::vector<std::size_t> ends;
  for (const char* step : {"1 + 2 = 3", "", "#### 7"}) {
    for (const std::int64_t id : ids_of(step))
      expected.push_back(id);
    expected.push_back(ids_of("\n").at(0));
    ends.push_back(expected.size() - 1);
  }
  EXPECT_EQ(examples.ids, expected);
  std::vector<double> labels;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool is_end = std::find(ends.begin(), ends.end(), i) != ends.end();
    EXPECT_EQ(examples.is_learned[i], is_end ? 1 : 0) << i;
    if (is_end) labels.push_back(examples.token_columns.at(kStepLabelColumn)[i - 1]);
  }
  EXPECT_THAT(labels, ElementsAre(1.0, 1.0, 0.0));
  EXPECT_THAT(examples.sequence_columns.at(kMostStepsColumn), ElementsAre(3.0));
}

TEST_F(PrmExamplesTest, ValuesAreLearnedWhereRowsHaveThem) {
  const std::string row =
      R"({"prompt": "p", "completions": ["a"], "labels": [true], "values": [0.25]})";
  const auto label = [](const lm::LmExamples& examples) {
    return examples.token_columns.at(kStepLabelColumn)[examples.ids.size() - 2];
  };
  EXPECT_EQ(label(encode(row)), 0.25);
  EXPECT_EQ(label(encode(row, {.learns_values = false})), 1.0);
}

TEST_F(PrmExamplesTest, SolutionsWithEqualPromptsBelongToOneQuestion) {
  const auto examples =
      encode(one_step(7, "1") + one_step(3, "0") + one_step(7, "0") + one_step(7, "1"));
  EXPECT_THAT(examples.sequence_columns.at(kQuestionColumn), ElementsAre(0.0, 1.0, 0.0, 0.0));
}

TEST_F(PrmExamplesTest, PairsHaveABetterAndAWorseSolutionOfAQuestion) {
  const std::string lines = one_step(1, "0") + one_step(2, "1") + one_step(1, "1") +
                            one_step(1, "0.5") + one_step(2, "1") + one_step(3, "0");
  const PrmSettings pairwise{.kind = PrmLossKind::pairwise};
  const auto examples = encode(lines, pairwise);

  ASSERT_EQ(examples.size(), 2U);  // the best and the worst solution of question 1
  EXPECT_EQ(examples.group_size, 2);
  EXPECT_THAT(examples.sequence_columns.at(kQuestionColumn), ElementsAre(0.0, 0.0));
  const auto& labels = examples.token_columns.at(kStepLabelColumn);
  EXPECT_EQ(labels[static_cast<std::size_t>(examples.ends[0]) - 2], 1.0);
  EXPECT_EQ(labels[static_cast<std::size_t>(examples.ends[1]) - 2], 0.0);
  EXPECT_EQ(encode(lines, pairwise, RowUse::held_out).size(), 6U);
  EXPECT_THAT(encode_file(lines, pairwise, RowUse::training).note,
              EndsWith("data.jsonl: 4 of 6 solutions form no pair, and are left out"));
  EXPECT_EQ(encode_file(lines, pairwise, RowUse::held_out).note, "");
  EXPECT_THAT(refusal(one_step(1, "0") + one_step(2, "1"), pairwise),
              HasSubstr("no question has two solutions"));
}

TEST_F(PrmExamplesTest, HeldOutQuestionsAreNotTrainedOn) {
  std::string lines;
  for (int question = 0; question < 40; ++question)
    lines += one_step(question, "1") + one_step(question, "0");
  const PrmSettings settings{.held_out = 0.25};
  const std::size_t held_out = encode(lines, settings, RowUse::held_out).size();
  EXPECT_EQ(held_out + encode(lines, settings).size(), 80U);
  EXPECT_EQ(held_out % 2, 0U);  // both solutions of a question
  EXPECT_GT(held_out, 4U);
  EXPECT_LT(held_out, 40U);
  const std::string more = one_step(90, "1") + lines;  // the numbers of all questions change
  EXPECT_LE(encode(more, settings, RowUse::held_out).size(), held_out + 1);
}

TEST_F(PrmExamplesTest, ShuffledLabelsStayWithinTheirQuestion) {
  std::string lines;
  for (int i = 0; i < 12; ++i)
    lines += one_step(1, i < 4 ? "0.25" : "1") + one_step(2, "0");
  const auto labels = [](const lm::LmExamples& examples, double question) {
    std::vector<double> found;
    for (std::size_t e = 0; e < examples.size(); ++e)
      if (examples.sequence_columns.at(kQuestionColumn)[e] == question)
        found.push_back(examples.token_columns.at(
            kStepLabelColumn)[static_cast<std::size_t>(examples.ends[e]) - 2]);
    return found;
  };
  const auto before = encode(lines);
  const auto after = encode(lines, {.shuffles_labels = true, .seed = 1});
  EXPECT_NE(labels(before, 0), labels(after, 0));
  EXPECT_THAT(labels(after, 0), testing::UnorderedElementsAreArray(labels(before, 0)));
  EXPECT_EQ(labels(before, 1), labels(after, 1));
  EXPECT_EQ(before.ids, after.ids);
}

TEST_F(PrmExamplesTest, RowsThatCannotBeUsedAreNamed) {
  const auto row = [](const std::string& steps, const std::string& labels) {
    return R"({"prompt": "p", "completions": )" + steps + R"(, "labels": )" + labels + "}";
  };
  EXPECT_THAT(refusal(R"({"prompt": "p", "completions": ["a"]})"), HasSubstr("no `labels`"));
  EXPECT_THAT(refusal(row("[]", "[]")), HasSubstr("it has no steps"));
  EXPECT_THAT(refusal(row("\"a\"", "[1]")), HasSubstr("no list of texts"));
  EXPECT_THAT(refusal(row("[1]", "[1]")), HasSubstr("no list of texts"));
  EXPECT_THAT(refusal(row("[\"a\", \"b\"]", "[1]")), HasSubstr("has 1 items, and there are 2"));
  EXPECT_THAT(refusal(row("[\"a\"]", "[2]")), HasSubstr("no number from 0 to 1"));
  EXPECT_THAT(refusal(row("[\"a\"]", "[null]")), HasSubstr("no number from 0 to 1"));
}

}  // namespace
}  // namespace mgpu::recipes
