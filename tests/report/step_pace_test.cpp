#include <gtest/gtest.h>

#include <mgpu/report/step_pace.hpp>

namespace mgpu::report {
namespace {

TEST(StepPaceTest, AShortRunKeepsEveryStep) {
  StepPace pace;
  for (std::int64_t step = 40; step <= 50; ++step)
    pace.mark(step, 0.5 * static_cast<double>(step));

  ASSERT_EQ(pace.marks().size(), 11U);
  EXPECT_EQ(pace.marks().front().steps, 40);
  EXPECT_EQ(pace.marks().back().time_s, 25.0);
}

TEST(StepPaceTest, ALongRunIsThinnedToAnEvenGrain) {
  StepPace pace;
  for (std::int64_t step = 7; step <= 100'007; ++step)
    pace.mark(step, static_cast<double>(step));

  ASSERT_LT(pace.marks().size(), StepPace::kMaxMarks);
  ASSERT_GE(pace.marks().size(), StepPace::kMaxMarks / 2 - 1);
  const std::int64_t grain = pace.marks()[1].steps - pace.marks()[0].steps;
  EXPECT_EQ(pace.marks().front().steps, 7);
  for (std::size_t i = 1; i < pace.marks().size(); ++i)
    EXPECT_EQ(pace.marks()[i].steps - pace.marks()[i - 1].steps, grain);
}

}  // namespace
}  // namespace mgpu::report
