#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/train/tree_reduce.hpp>

namespace mgpu::train {
namespace {

ErrorReport refusal(int lanes, int ranks) {
  try {
    check_lanes(lanes, ranks);
  } catch (const Failure& e) {
    return e.report();
  }
  return {};
}

TEST(CheckLanesTest, DivisorsOfAPowerOfTwoPass) {
  for (const int ranks : {1, 2, 4, 8, 16})
    EXPECT_EQ(refusal(16, ranks).code, "") << ranks;
}

TEST(CheckLanesTest, OtherRankCountsAreRefusedWithTheOnesThatWork) {
  const ErrorReport report = refusal(8, 3);
  EXPECT_EQ(report.code, "E122");
  EXPECT_EQ(report.exit, ExitCode::config);
  EXPECT_EQ(report.sentence, "8 lanes cannot be shared by 3 ranks");
  EXPECT_EQ(report.help, "start 1, 2, 4 or 8 ranks, or set run.deterministic=false");
}

TEST(CheckLanesTest, OtherLaneCountsAreRefused) {
  EXPECT_EQ(refusal(12, 2).sentence, "train.lanes is 12, not a power of two");
  EXPECT_EQ(refusal(0, 1).sentence, "train.lanes is 0, not a power of two");
}

/// Adds, and records which lanes are in each sum that is added to the arena. Bit l of a value
/// stands for lane l.
class Spy {
public:
  Spy(std::vector<float>& arena, std::vector<std::string>& sums) : arena_(arena), sums_(sums) {}

  void operator()(BufferView into, BufferView from, CUstream_st* stream) {
    add_on_host(into, from, stream);
    if (into.data == arena_.data()) sums_.push_back(name(*static_cast<float*>(from.data)));
  }

private:
  static std::string name(float bits) {
    std::string lanes;
    for (int lane = 0; lane < 8; ++lane) {
      if ((static_cast<int>(bits) >> lane & 1) != 0) lanes += std::to_string(lane);
    }
    return lanes;
  }

  std::vector<float>& arena_;
  std::vector<std::string>& sums_;
};

TEST(LaneTreeTest, LanesMeetAsInABalancedTree) {
  std::vector<float> arena(1);
  std::vector<std::string> sums;
  LaneTree tree({arena.data(), 1, DType::f32, {}}, 8, Spy(arena, sums));

  for (int lane = 0; lane < 7; ++lane) {
    arena[0] = static_cast<float>(1 << lane);
    tree.add_lane(nullptr);
    EXPECT_EQ(arena[0], 0.0F);
  }
  arena[0] = 128.0F;
  tree.add_to_last(0, 1, nullptr);

  EXPECT_EQ(arena[0], 255.0F);
  // Lane 1 adds lane 0. Lane 3 adds lane 2, then the sum of lanes 0 and 1. Lane 5 adds lane 4. Lane
  // 7 adds lane 6, then the sum of lanes 4 and 5, then the sum of lanes 0 to 3.
  EXPECT_THAT(sums, testing::ElementsAre("0", "2", "01", "4", "6", "45", "0123"));
}

TEST(LaneTreeTest, OneLaneNeedsNoOther) {
  std::vector<float> arena{5.0F};
  LaneTree tree({arena.data(), 1, DType::f32, {}}, 1, add_on_host);
  EXPECT_THROW(tree.add_lane(nullptr), Error);
  EXPECT_NO_THROW(tree.require_last_lane());
  tree.add_to_last(0, 1, nullptr);
  EXPECT_EQ(arena[0], 5.0F);
}

TEST(LaneTreeTest, AMissingLaneIsAnError) {
  std::vector<float> arena(1);
  LaneTree tree({arena.data(), 1, DType::f32, {}}, 4, add_on_host);
  tree.add_lane(nullptr);
  EXPECT_THROW(tree.require_last_lane(), Error);
}

TEST(AddOnHostTest, RefusesOtherTypes) {
  std::vector<double> values(2);
  const BufferView view{values.data(), 2, DType::f64, {}};
  EXPECT_THROW(add_on_host(view, view, nullptr), Error);
}

}  // namespace
}  // namespace mgpu::train
