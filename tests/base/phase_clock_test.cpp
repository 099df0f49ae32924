#include <chrono>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include <mgpu/base/phase_clock.hpp>

namespace mgpu {
namespace {

double sum(const std::vector<PhaseClock::Total>& totals) {
  return std::accumulate(totals.begin(), totals.end(), 0.0,
                         [](double s, const PhaseClock::Total& t) { return s + t.seconds; });
}

TEST(PhaseClockTest, PhasesSumToTheWallTime) {
  PhaseClock clock(1.5);
  {
    const auto outer = clock.enter("train");
    const auto inner = clock.enter("forward");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double before = clock.elapsed_s();
  const double total = sum(clock.totals());
  EXPECT_GE(total, before);
  EXPECT_LE(total, clock.elapsed_s());
  EXPECT_GE(before, 1.5);
}

TEST(PhaseClockTest, InnerTimeCountsForTheInnerPhaseOnly) {
  PhaseClock clock;
  {
    const auto outer = clock.enter("outer");
    const auto inner = clock.enter("inner");
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
  const auto totals = clock.totals();
  ASSERT_EQ(totals.size(), 3U);
  EXPECT_LT(totals[1].seconds, 0.01);
  EXPECT_GE(totals[2].seconds, 0.03);
  EXPECT_EQ(totals[2].calls, 1);
}

TEST(PhaseClockTest, KeepsABoundedNumberOfIntervals) {
  PhaseClock clock;
  for (int i = 0; i < 5; ++i) {
    const auto scope = clock.enter(i % 2 == 0 ? "a" : "b");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_GE(clock.intervals().size(), 5U);
  EXPECT_LE(clock.intervals().size(), PhaseClock::kMaxIntervals);
}

}  // namespace
}  // namespace mgpu
