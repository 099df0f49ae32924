#include "pipeline_replay.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace mgpu::bench {
namespace {

TEST(PipelineReplayTest, EqualStagesWithEnoughPassesAreAlwaysBusy) {
  const std::vector<std::vector<double>> seconds(4, std::vector<double>(100, 1.0));

  EXPECT_DOUBLE_EQ(replayed_busy_share(seconds, 4), 1.0);
  EXPECT_DOUBLE_EQ(replayed_busy_share(seconds, 5), 1.0);
}

TEST(PipelineReplayTest, OnePassAtATimeKeepsOneStageBusy) {
  const std::vector<std::vector<double>> seconds(4, std::vector<double>(3, 1.0));

  // The first stage begins at 0, 4 and 8 and ends at 9.
  EXPECT_DOUBLE_EQ(replayed_busy_share(seconds, 1), 3.0 / 9.0);
}

TEST(PipelineReplayTest, AFastStageWaitsForASlowOne) {
  const std::vector<std::vector<double>> seconds{std::vector<double>(100, 2.0),
                                                 std::vector<double>(100, 1.0)};

  // The second stage works from 2 on, for one of every two seconds, and ends at 201.
  EXPECT_DOUBLE_EQ(replayed_busy_share(seconds, 3), 100.0 / 199.0);
}

}  // namespace
}  // namespace mgpu::bench
