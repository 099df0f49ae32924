#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include <mgpu/report/phases.hpp>

namespace mgpu::report {
namespace {

using cluster::Group;

void work(PhaseClock& clock, const char* phase, int milliseconds) {
  const auto scope = clock.enter(phase);
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(PhasesTest, RankZeroGetsEveryRanksTotals) {
  const Group world = Group::world();
  PhaseClock clock;
  work(clock, "forward", 40 + 40 * world.rank());
  if (world.rank() == world.size() - 1) work(clock, "only the last", 20);

  const PhaseTable table = gather_phases(world, clock);

  if (world.rank() != 0) {
    EXPECT_TRUE(table.ranks.empty());
    return;
  }
  ASSERT_EQ(table.ranks.size(), static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) {
    const double seconds = table.ranks[static_cast<std::size_t>(r)].seconds.at("forward");
    EXPECT_GE(seconds, 0.040 * (r + 1));
  }
  const std::vector<PhaseRow> rows = phase_rows(table);
  const double shares =
      std::accumulate(rows.begin(), rows.end(), 0.0,
                      [](double sum, const PhaseRow& row) { return sum + row.share; });
  EXPECT_NEAR(shares, 1.0, 1e-9);
  EXPECT_EQ(rows[0].phase, "forward");
  EXPECT_EQ(rows[0].max_rank, world.size() - 1);
  EXPECT_EQ(rows[1].ranks_in_it, 1);
}

TEST(PhasesTest, TheTimeLineCoversThePhases) {
  const Group world = Group::world();
  PhaseClock clock;
  work(clock, "forward", 60);
  work(clock, "evaluation", 60);

  const PhaseTable table = gather_phases(world, clock);

  for (const RankPhases& rank : table.ranks) {
    const std::vector<float>& forward = rank.shares.at("forward");
    const double bin_s = table.wall_s / static_cast<double>(forward.size());
    const double covered_s = bin_s * std::accumulate(forward.begin(), forward.end(), 0.0);
    EXPECT_NEAR(covered_s, rank.seconds.at("forward"), 0.15 * rank.seconds.at("forward"));
    const std::vector<float>& evaluation = rank.shares.at("evaluation");
    const auto is_busy = [](float share) { return share > 0.0F; };
    const auto starts = std::find_if(evaluation.begin(), evaluation.end(), is_busy);
    const auto ends = std::find_if(forward.rbegin(), forward.rend(), is_busy);
    ASSERT_NE(starts, evaluation.end());
    const auto shared_bins = (forward.rend() - ends) - (starts - evaluation.begin());
    EXPECT_LE(bin_s * static_cast<double>(shared_bins - 2), clock.slice_s());
  }
}

}  // namespace
}  // namespace mgpu::report
