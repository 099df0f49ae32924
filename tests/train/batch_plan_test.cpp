#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/train/batch_plan.hpp>

namespace mgpu::train {
namespace {

std::vector<int> visits(const BatchShape& shape, int ranks) {
  std::vector<int> count(static_cast<std::size_t>(shape.global_batch), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    for (const MicroBatch& pass : plan_micro_batches(shape, rank, ranks, DeviceKind::cpu)) {
      for (std::int64_t i = pass.offset; i < pass.offset + pass.count; ++i)
        ++count.at(static_cast<std::size_t>(i));
    }
  }
  return count;
}

TEST(BatchPlanTest, EveryItemIsWorkedOnOnceAtAnyRankCount) {
  for (const std::int64_t batch : {7, 32, 33}) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
      for (const std::int64_t micro : {0, 1, 3, 100}) {
        const BatchShape shape{batch, micro, 4, 1, false};
        EXPECT_EQ(visits(shape, ranks), std::vector<int>(static_cast<std::size_t>(batch), 1))
            << batch << " items, " << ranks << " ranks, micro " << micro;
      }
    }
  }
}

TEST(BatchPlanTest, LayoutPassesAreTheSameAtEveryRankCount) {
  const BatchShape shape{32, 3, 8, 1, true};
  const auto all_passes = [&](int ranks) {
    std::vector<std::vector<std::int64_t>> passes;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const MicroBatch& pass : plan_micro_batches(shape, rank, ranks, DeviceKind::cpu))
        passes.push_back({pass.offset, pass.count, pass.ends_lane ? 1 : 0});
    }
    return passes;
  };
  const auto alone = all_passes(1);
  EXPECT_EQ(alone.size(), 16U);  // 8 lanes of 4 items, split 3 + 1
  for (const int ranks : {2, 4, 8})
    EXPECT_EQ(all_passes(ranks), alone) << ranks << " ranks";
}

TEST(BatchPlanTest, AccumulationCutsTheShare) {
  const BatchShape shape{32, 32, 1, 4, false};
  EXPECT_EQ(plan_micro_batches(shape, 0, 2, DeviceKind::cpu).size(), 4U);
  EXPECT_EQ(plan_micro_batches(shape, 0, 2, DeviceKind::cpu)[0].count, 4);
}

TEST(BatchPlanTest, AGpuGetsTheShareOfARankInOnePass) {
  const auto counts = [](const BatchShape& shape, DeviceKind device) {
    std::vector<std::int64_t> all;
    for (const MicroBatch& pass : plan_micro_batches(shape, 0, 2, device))
      all.push_back(pass.count);
    return all;
  };
  const std::vector<std::int64_t> whole{16};
  const std::vector<std::int64_t> lanes{4, 4, 4, 4};
  EXPECT_EQ(counts({32, 0, 8, 1, false, true}, DeviceKind::cuda), whole);
  EXPECT_EQ(counts({32, 0, 8, 1, false, true}, DeviceKind::cpu), lanes);
  EXPECT_EQ(counts({32, 0, 8, 1, false, false}, DeviceKind::cuda), lanes);
  EXPECT_EQ(counts({32, 0, 8, 1, true, true}, DeviceKind::cuda), lanes);   // layout
  EXPECT_EQ(counts({32, 4, 8, 1, false, true}, DeviceKind::cuda), lanes);  // a micro batch
  EXPECT_EQ(counts({32, 0, 8, 4, false, true}, DeviceKind::cuda), lanes);  // accumulation
}

TEST(BatchPlanTest, NamesTheKeyThatIsWrong) {
  EXPECT_EQ(problem_of({32, 0, 6, 1, true}, 1)->key, "train.lanes");
  EXPECT_EQ(problem_of({30, 0, 4, 1, true}, 1)->key, "train.global_batch_size");
  EXPECT_EQ(problem_of({32, 0, 4, 1, true}, 3)->key, "train.lanes");
  EXPECT_EQ(problem_of({2, 0, 1, 1, false}, 3)->key, "train.global_batch_size");
  EXPECT_FALSE(problem_of({32, 0, 4, 1, true}, 4));
}

TEST(BatchPlanTest, RefusesWhatCannotBeShared) {
  EXPECT_THROW(plan_micro_batches({32, 0, 6, 1, true}, 0, 1, DeviceKind::cpu),
               Failure);  // 6 lanes: not a power of two
  EXPECT_THROW(plan_micro_batches({30, 0, 4, 1, true}, 0, 1, DeviceKind::cpu),
               Failure);  // uneven lanes
  EXPECT_THROW(plan_micro_batches({32, 0, 4, 1, true}, 0, 3, DeviceKind::cpu),
               Failure);  // 3 ranks, 4 lanes
  EXPECT_THROW(plan_micro_batches({2, 0, 1, 1, false}, 0, 3, DeviceKind::cpu),
               Failure);  // idle rank
}

}  // namespace
}  // namespace mgpu::train
