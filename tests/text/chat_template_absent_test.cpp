#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::text {
namespace {

TEST(ChatTemplateAbsentTest, SaysThatTheBuildHasNone) {
  try {
    ChatTemplate("{{ messages }}");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E546");
    EXPECT_EQ(failure.report().exit, ExitCode::unavailable);
  }
}

}  // namespace
}  // namespace mgpu::text
