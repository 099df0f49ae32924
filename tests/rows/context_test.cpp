// Tests the context length that follows from a model's configuration.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/rows/context.hpp>

namespace mgpu::rows {
namespace {

using testing::HasSubstr;

std::int64_t context_with(const lm::RopeConfig& rope) {
  lm::LmConfig model;
  model.max_positions = 2048;
  model.rope = rope;
  return context_of(model);
}

TEST(ContextTest, IsMaxPositionEmbeddingsUnlessTheRotationScales) {
  EXPECT_EQ(context_with({.kind = lm::RopeKind::standard}), 2048);
  EXPECT_EQ(context_with({.kind = lm::RopeKind::linear, .factor = 4.0}), 8192);
  EXPECT_EQ(context_with({.kind = lm::RopeKind::yarn, .factor = 4.0, .original_positions = 4096}),
            16384);
  EXPECT_EQ(context_with({.kind = lm::RopeKind::llama3, .factor = 8.0, .original_positions = 128}),
            2048);
  EXPECT_EQ(context_with({.kind = lm::RopeKind::dynamic, .factor = 2.0}), 0);
  EXPECT_EQ(context_with({.kind = lm::RopeKind::none}), 0);  // learned positions
}

TEST(ContextTest, TheWarningHasNumberLimitAndHelp) {
  EXPECT_EQ(beyond_context_warning(0, 256, "help"), "");
  EXPECT_THAT(beyond_context_warning(3, 256, "try this"),
              testing::AllOf(HasSubstr("3 rows are longer than the 256 tokens"),
                             testing::EndsWith("; try this")));
  EXPECT_EQ(beyond_context_text(300, 256),
            "300 tokens, and the model was made for 256 (max_position_embeddings)");
}

}  // namespace
}  // namespace mgpu::rows
