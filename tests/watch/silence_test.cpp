#include "watch/silence.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace mgpu::watch {
namespace {

using std::chrono::milliseconds;

class SilenceTest : public testing::Test {
protected:
  void look_after(milliseconds step) {
    now_ += step;
    silence_.update(slots_, now_);
  }

  std::vector<Slot> slots_{2};
  Silence silence_{2, milliseconds(200)};
  Silence::Clock::time_point now_ = Silence::Clock::now();
};

TEST_F(SilenceTest, CountsFromTheLastMarkOfEachRank) {
  look_after(milliseconds(0));
  for (int i = 0; i < 10; ++i) {
    slots_[1].activity.marks = static_cast<std::uint64_t>(i + 1);
    look_after(milliseconds(200));
  }
  EXPECT_NEAR(silence_.progress_s(0), 2.0, 0.1);
  EXPECT_NEAR(silence_.progress_s(1), 0.0, 0.1);
}

TEST_F(SilenceTest, ANodeThatWasSuspendedIsNotSilentForIt) {
  look_after(milliseconds(200));
  look_after(std::chrono::hours(3));
  EXPECT_LT(silence_.progress_s(0), 1.0);
}

TEST_F(SilenceTest, BeatsOfTheThreadAreNoSignOfProgress) {
  slots_[0].beats = 5;
  look_after(milliseconds(200));
  look_after(milliseconds(200));
  slots_[0].beats = 6;
  look_after(milliseconds(200));
  EXPECT_NEAR(silence_.beat_s(0), 0.0, 0.01);
  EXPECT_GT(silence_.progress_s(0), 0.5);
}

}  // namespace
}  // namespace mgpu::watch
