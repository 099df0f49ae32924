// Linked into the tests of kernels. With MGPU_TEST_TARGET=SSE4 they run what was compiled for that
// instruction set, as on a processor that has none beyond it.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <hwy/targets.h>

#include <gtest/gtest.h>

namespace {

class OnTarget : public testing::Environment {
public:
  void SetUp() override {
    const char* name = std::getenv("MGPU_TEST_TARGET");
    if (name == nullptr) return;
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    const auto found = std::find_if(targets.begin(), targets.end(), [name](std::int64_t target) {
      return std::string(hwy::TargetName(target)) == name;
    });
    if (found == targets.end()) GTEST_SKIP() << "no " << name << " here";
    hwy::SetSupportedTargetsForTest(*found);
    ASSERT_EQ(hwy::SupportedTargets(), *found);
  }
};

const testing::Environment* const on_target =
    testing::AddGlobalTestEnvironment(new OnTarget);  // gtest owns it

}  // namespace
