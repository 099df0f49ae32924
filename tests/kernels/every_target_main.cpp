// Runs the tests once for each compiled instruction set that this processor has, each time as on a
// processor that has no newer one.
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include <hwy/targets.h>

#include <gtest/gtest.h>

namespace {

class NextTarget : public testing::Environment {
public:
  explicit NextTarget(std::vector<std::int64_t> targets) : targets_(std::move(targets)) {}

  void SetUp() override {
    const std::int64_t target = targets_[next_++];
    std::printf("instruction set: %s\n", hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    ASSERT_EQ(hwy::SupportedTargets(), target);
  }

  bool is_done() const { return next_ == targets_.size(); }

private:
  std::vector<std::int64_t> targets_;
  std::size_t next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  GTEST_FLAG_SET(repeat, static_cast<int>(targets.size()));
  GTEST_FLAG_SET(recreate_environments_when_repeating, true);
  auto* const targets_run = new NextTarget(targets);
  testing::AddGlobalTestEnvironment(targets_run);  // gtest owns it
  const int failed = RUN_ALL_TESTS();
  return targets_run->is_done() ? failed : 1;
}
