// Tests the texts that a trained model writes for the page of a training.
#include "recipes/lm/sample_texts.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/lm/config/lm_config.hpp>

#include "support/project_folder.hpp"

namespace mgpu::recipes {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class SampleTextsTest : public testing::Test {
protected:
  std::vector<std::int64_t> ids_of(const std::string& text) const {
    const auto ids = folder_.tokenizer.encode(text, /*add_special_tokens=*/false);
    return {ids.begin(), ids.end()};
  }

  /// Adds an example. `prompt` may be empty.
  void add(const std::string& prompt, const std::string& completion) {
    for (const std::int64_t id : ids_of(prompt)) {
      examples_.ids.push_back(id);
      examples_.is_learned.push_back(0);
    }
    for (const std::int64_t id : ids_of(completion)) {
      examples_.ids.push_back(id);
      examples_.is_learned.push_back(1);
    }
    examples_.ends.push_back(std::ssize(examples_.ids));
  }

  std::vector<SampleText> samples() const { return sample_texts(model_, examples_, folder_); }

  text::TextFolder folder_ = text::parse_text_folder(
      text::read_text_files(testing_support::tiny_lm()), testing_support::tiny_lm());
  lm::TrainableModel model_{
      lm::read_lm_config(testing_support::tiny_lm(), lm::FolderWeights::ignored), Device{}, 1};
  lm::LmExamples examples_;
};

TEST_F(SampleTextsTest, ShowPromptAndCompletionOfTheData) {
  add("3 + 4 =", " 7");
  const std::vector<SampleText> texts = samples();

  ASSERT_THAT(texts, SizeIs(1));
  EXPECT_EQ(texts[0].prompt, "3 + 4 =");
  EXPECT_EQ(texts[0].expected, " 7");
  EXPECT_FALSE(texts[0].generated.empty());
  EXPECT_LT(texts[0].log_prob, 0.0);
}

TEST_F(SampleTextsTest, ATextIsDividedInTheMiddle) {
  const std::string text = "Mia saw a cat in the garden, and a dog";
  add("", text);
  const std::vector<SampleText> texts = samples();

  ASSERT_THAT(texts, SizeIs(1));
  EXPECT_EQ(texts[0].prompt + texts[0].expected, text);
  EXPECT_FALSE(texts[0].prompt.empty());
  EXPECT_FALSE(texts[0].expected.empty());
}

TEST_F(SampleTextsTest, AreSpreadOverTheExamplesAndDoNotDependOnTheOthers) {
  for (int n = 0; n < 60; ++n)
    add(std::to_string(n) + " + 1 =", " " + std::to_string(n + 1));
  const std::vector<SampleText> texts = samples();

  ASSERT_THAT(texts, SizeIs(6));
  EXPECT_EQ(texts[0].prompt, "0 + 1 =");
  EXPECT_EQ(texts[5].prompt, "50 + 1 =");
  examples_ = {};
  add("50 + 1 =", " 51");
  EXPECT_EQ(samples()[0].generated, texts[5].generated);
}

TEST_F(SampleTextsTest, WithoutExamplesThereAreNone) {
  EXPECT_THAT(samples(), IsEmpty());
}

}  // namespace
}  // namespace mgpu::recipes
