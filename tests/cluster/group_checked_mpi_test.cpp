// Tests groups of checked builds. The library mgpu::cluster_checked first compares the calls of all
// ranks in each collective.
#include <functional>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {
namespace {

using testing::HasSubstr;

/// Returns the error of this rank when its call does not match that of the others.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const ShapeError& e) {
    return e.what();
  }
  return "no ShapeError";
}

TEST(CheckedGroupTest, TheLibraryKnowsThatItChecks) {
  EXPECT_TRUE(Group::is_checked());
}

TEST(CheckedGroupTest, UnequalLengthsAreRefusedOnEveryRank) {
  const Group world = Group::world();
  const int odd = world.size() - 1;
  std::vector<float> values(world.rank() == odd ? 3 : 2, 1.0F);

  const std::string told = refusal([&] { world.all_reduce(std::span(values)); });

  EXPECT_THAT(told, HasSubstr("rank " + std::to_string(odd) + " calls all_reduce of 3 f32, sum"));
  EXPECT_THAT(told, HasSubstr("the others call all_reduce of 2 f32, sum"));
}

TEST(CheckedGroupTest, UnequalTypesAreRefused) {
  const Group world = Group::world();
  const std::string told = refusal([&] {
    if (world.rank() == 0) {
      world.all_gather(1.0F);
    } else {
      world.all_gather(std::int32_t{1});
    }
  });
  EXPECT_THAT(told, HasSubstr("f32"));
  EXPECT_THAT(told, HasSubstr("i32"));
}

TEST(CheckedGroupTest, UnequalReductionsAndRootsAreRefused) {
  const Group world = Group::world();
  const bool first = world.rank() == 0;
  EXPECT_THAT(refusal([&] { world.all_reduce(1, first ? ReduceOp::min : ReduceOp::max); }),
              HasSubstr("min"));
  EXPECT_THAT(refusal([&] { world.broadcast("text", first ? 0 : 1); }), HasSubstr("root 1"));
  EXPECT_THAT(refusal([&] { world.gather("text", first ? 0 : 1); }), HasSubstr("root 1"));
}

TEST(CheckedGroupTest, DifferentCollectivesAreRefused) {
  const Group world = Group::world();
  const std::string told = refusal([&] {
    if (world.rank() == 0) {
      world.barrier();
    } else {
      world.broadcast("text", 0);
    }
  });
  EXPECT_THAT(told, HasSubstr("barrier"));
  EXPECT_THAT(told, HasSubstr("broadcast"));
}

TEST(CheckedGroupTest, EqualCallsPass) {
  const Group world = Group::world();
  std::int32_t value = 1;
  EXPECT_NO_THROW(world.barrier());
  EXPECT_NO_THROW(world.broadcast(std::span(&value, 1), 0));
  EXPECT_NO_THROW(
      world.all_gather("different " + std::string(static_cast<std::size_t>(world.rank()), 'x')));
  EXPECT_NO_THROW(world.gather("text", 0));
}

}  // namespace
}  // namespace mgpu::cluster
