// Tests value.drop_equal_labels.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>

#include "recipes/lm/example_lists.hpp"
#include "recipes/value/equal_labels.hpp"
#include "recipes/value/loss.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;

/// Returns an example with this prompt and the completion {9, 9}.
lm::LmExamples example(std::vector<std::int64_t> prompt, double label) {
  lm::LmExamples row;
  row.texts[kPromptKeys] = {testing::PrintToString(prompt)};
  row.ids = std::move(prompt);
  row.is_learned.assign(row.ids.size(), 0);
  row.ids.insert(row.ids.end(), {9, 9});
  row.is_learned.insert(row.is_learned.end(), {1, 1});
  row.ends = {std::ssize(row.ids)};
  row.sequence_columns[kReturnColumn] = {label};
  return row;
}

TEST(ValueEqualLabelsTest, PromptsAreComparedAsTheyStandInTheRows) {
  const auto key = [](const std::string& row) {
    return prompt_key_of(formats::parse_json_object(row));
  };
  EXPECT_EQ(key(R"({"token_ids": [1, 2], "completion_ids": [3], "label": 1})"),
            key(R"({"token_ids": [1, 2], "completion_ids": [4, 5], "label": 0})"));
  EXPECT_NE(key(R"({"token_ids": [1, 2]})"), key(R"({"token_ids": [12]})"));
  EXPECT_EQ(key(R"({"prompt": "a\n", "completion": "\nb"})"),
            key(R"({"prompt": "a\n", "completion": "c"})"));
  EXPECT_NE(key(R"({"prompt": "a"})"), key(R"({"prompt": "b"})"));
  const std::string question = R"({"messages": [{"role": "user", "content": "a"}, )";
  EXPECT_EQ(key(question + R"({"role": "assistant", "content": "b"}]})"),
            key(question + R"({"role": "assistant", "content": "c"}]})"));
  EXPECT_NE(key(question + R"({"role": "assistant", "content": "b"}]})"),
            key(R"({"messages": [{"role": "user", "content": "b"}, {"role": "assistant"}]})"));
}

TEST(ValueEqualLabelsTest, PromptsWithDifferentLabelsStayInOrder) {
  lm::LmExamples all;
  append_examples(example({1, 2}, 1.0), all);
  append_examples(example({12}, 0.25), all);  // a single row
  append_examples(example({3}, 0.5), all);
  append_examples(example({4, 4, 4}, 0.0), all);
  append_examples(example({3}, 0.5), all);  // as the row before with this prompt
  append_examples(example({4, 4, 4}, 0.0), all);
  append_examples(example({1, 2}, 0.0), all);
  append_examples(example({4, 4, 4}, 1.0), all);
  drop_equal_labels(all);
  EXPECT_THAT(all.ids,
              ElementsAre(1, 2, 9, 9, 4, 4, 4, 9, 9, 4, 4, 4, 9, 9, 1, 2, 9, 9, 4, 4, 4, 9, 9));
  EXPECT_THAT(all.is_learned,
              ElementsAre(0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1));
  EXPECT_THAT(all.ends, ElementsAre(4, 9, 14, 18, 23));
  EXPECT_THAT(all.sequence_columns[kReturnColumn], ElementsAre(1.0, 0.0, 0.0, 0.0, 1.0));
  EXPECT_TRUE(all.texts.empty());
}

TEST(ValueEqualLabelsTest, NothingMayBeLeft) {
  lm::LmExamples all;
  append_examples(example({1}, 1.0), all);
  append_examples(example({1}, 1.0), all);
  append_examples(example({2}, 0.0), all);
  drop_equal_labels(all);
  EXPECT_EQ(all.size(), 0U);
}

}  // namespace
}  // namespace mgpu::recipes
