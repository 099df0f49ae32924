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

TEST(PhaseClockTest, TimeBeforeItsBirthBelongsToTheFirstPhase) {
  const PhaseClock clock(5.0, "start-up");
  const auto totals = clock.totals();
  ASSERT_EQ(totals.size(), 1U);
  EXPECT_EQ(totals[0].phase, "start-up");
  EXPECT_GE(totals[0].seconds, 5.0);
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

TEST(PhaseClockTest, SlicesSumToThePhasesHoweverOftenTheyWereMerged) {
  PhaseClock clock(3.0);  // three times the span of the first slices
  for (int i = 0; i < 200; ++i) {
    const auto scope = clock.enter(i % 2 == 0 ? "a" : "b");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_LE(clock.num_slices(), PhaseClock::kMaxSlices);
  EXPECT_GT(clock.num_slices(), PhaseClock::kMaxSlices / 2);
  EXPECT_EQ(clock.slice_s(), 4e-3);
  std::vector<double> seconds(3);
  for (std::size_t i = 0; i < PhaseClock::kMaxSlices; ++i) {
    double slice_s = 0.0;
    for (std::size_t phase = 0; phase < seconds.size(); ++phase) {
      slice_s += clock.slices(phase)[i];
      seconds[phase] += clock.slices(phase)[i];
    }
    EXPECT_LE(slice_s, clock.slice_s() * (1 + 1e-9));
    EXPECT_TRUE(i < clock.num_slices() || slice_s == 0.0);
  }
  EXPECT_NEAR(seconds[0], 3.0, 0.1);
  EXPECT_NEAR(seconds[1], clock.totals()[1].seconds, 1e-9);
  EXPECT_NEAR(seconds[2], clock.totals()[2].seconds, 1e-9);
}

}  // namespace
}  // namespace mgpu
