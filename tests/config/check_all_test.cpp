#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/config/check_all.hpp>

namespace mgpu {
namespace {

TEST(CheckAllTest, ShowsAllFailures) {
  const auto fail = [](const char* code) {
    throw Failure({code, ExitCode::config, std::string("sentence ") + code, {}, "help me"});
  };
  try {
    check_all({[&] { fail("E107"); }, [] {}, [&] { fail("E121"); }});
    ADD_FAILURE() << "did not throw";
  } catch (const Failure& failure) {
    EXPECT_EQ(render(failure.report()),
              "error[E107]: sentence E107\n"
              "  = help: help me\n"
              "\n"
              "error[E121]: sentence E121\n"
              "  = help: help me");
  }
  EXPECT_NO_THROW(check_all({}));
}

}  // namespace
}  // namespace mgpu
