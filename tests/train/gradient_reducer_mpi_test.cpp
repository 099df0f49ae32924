#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/cluster/communicator.hpp>
#include <mgpu/train/gradient_reducer.hpp>

namespace mgpu::train {
namespace {

using cluster::Backend;
using cluster::Group;
using namespace std::chrono_literals;

/// Five parameters with gaps between some of them; 40-byte buckets hold one or two.
const std::vector<ParameterSpan> kParameters = {{0, 10}, {10, 7}, {20, 12}, {32, 1}, {40, 9}};
constexpr std::size_t kArena = 49;

class GradientReducerTest : public testing::Test {
protected:
  GradientReducer make(ReducerOptions options = {.bucket_bytes = 40}) {
    return GradientReducer(*communicator_, {view(), kParameters, nullptr}, std::move(options));
  }

  BufferView view() { return {arena_.data(), arena_.size(), DType::f32, {}}; }

  /// Returns what pass `pass` of rank `rank` adds to element i of the arena. The values are small
  /// integers, so every order of the sum gives the same bits.
  static float gradient(int rank, int pass, std::size_t i) {
    return static_cast<float>(static_cast<std::size_t>(100 * (rank + 1) + 7 * pass) + i);
  }

  void backward(int pass, std::size_t parameter) {
    const ParameterSpan& span = kParameters[parameter];
    for (std::size_t i = span.begin; i < span.begin + span.count; ++i)
      arena_[i] += gradient(world_.rank(), pass, i);
  }

  void backward_all(GradientReducer& reducer, int pass) {
    for (std::size_t p = kParameters.size(); p-- > 0;) {
      backward(pass, p);
      reducer.mark_ready(p);
    }
  }

  void expect_sums(int passes) const {
    for (const ParameterSpan& span : kParameters) {
      for (std::size_t i = span.begin; i < span.begin + span.count; ++i) {
        float sum = 0.0F;
        for (int rank = 0; rank < world_.size(); ++rank) {
          for (int pass = 0; pass < passes; ++pass)
            sum += gradient(rank, pass, i);
        }
        EXPECT_EQ(arena_[i], sum) << "element " << i;
      }
    }
  }

  /// Waits until the reducer has reduced `buckets` buckets, for at most 10 s. Returns whether it
  /// has.
  static bool reaches(const GradientReducer& reducer, std::size_t buckets) {
    for (int tries = 0; tries < 10000 && reducer.reduced_buckets() < buckets; ++tries)
      std::this_thread::sleep_for(1ms);
    return reducer.reduced_buckets() >= buckets;
  }

  Group world_ = Group::world();
  std::unique_ptr<cluster::Communicator> communicator_ =
      make_communicator(world_, Backend::mpi, {}, {});
  std::vector<float> arena_ = std::vector<float>(kArena);
};

TEST_F(GradientReducerTest, EqualsTheSumOfOneProcess) {
  GradientReducer reducer = make();
  for (int step = 0; step < 3; ++step) {
    arena_.assign(kArena, 0.0F);
    reducer.begin_pass(/*is_last=*/true);
    backward_all(reducer, 0);
    EXPECT_GE(reducer.finish(), 0.0);
    expect_sums(1);
  }
}

TEST_F(GradientReducerTest, OnlyTheLastPassCommunicates) {
  GradientReducer reducer = make();
  for (int pass = 0; pass < 2; ++pass) {
    reducer.begin_pass(/*is_last=*/false);
    backward_all(reducer, pass);
    EXPECT_FALSE(reducer.reduced_buckets() > 0);
  }
  reducer.begin_pass(/*is_last=*/true);
  backward_all(reducer, 2);
  reducer.finish();
  EXPECT_EQ(reducer.reduced_buckets(), reducer.num_buckets());
  expect_sums(3);
}

TEST_F(GradientReducerTest, BucketsAreReducedBeforeTheLastGradientExists) {
  GradientReducer reducer = make();
  ASSERT_GT(reducer.num_buckets(), 1U);
  reducer.begin_pass(/*is_last=*/true);
  for (std::size_t p = kParameters.size(); p-- > 1;) {
    backward(0, p);
    reducer.mark_ready(p);
  }
  EXPECT_TRUE(reaches(reducer, reducer.num_buckets() - 1));
  backward(0, 0);
  reducer.mark_ready(0);
  reducer.finish();
  expect_sums(1);
}

TEST_F(GradientReducerTest, LaterStepsFollowTheOrderThatRankZeroSaw) {
  GradientReducer reducer = make();
  const std::vector<std::size_t> seen_by_zero{2, 4, 0, 1, 3};
  const std::vector<std::size_t> seen_by_others{0, 1, 2, 3, 4};
  reducer.begin_pass(/*is_last=*/true);
  for (const std::size_t p : world_.rank() == 0 ? seen_by_zero : seen_by_others) {
    backward(0, p);
    reducer.mark_ready(p);
  }
  reducer.finish();
  expect_sums(1);

  // Parameter 2 has 48 bytes, so it is now a bucket by itself and the first one.
  arena_.assign(kArena, 0.0F);
  reducer.begin_pass(/*is_last=*/true);
  backward(0, 2);
  reducer.mark_ready(2);
  EXPECT_TRUE(reaches(reducer, 1));
  for (const std::size_t p : {4U, 0U, 1U, 3U}) {
    backward(0, p);
    reducer.mark_ready(p);
  }
  reducer.finish();
  expect_sums(1);
}

TEST_F(GradientReducerTest, UnmarkedParametersCountWithWhatIsThere) {
  GradientReducer reducer = make();
  reducer.begin_pass(/*is_last=*/true);
  backward(0, 1);
  reducer.mark_ready(1);
  arena_[25] = 2.0F;
  reducer.finish();
  EXPECT_EQ(arena_[25], 2.0F * static_cast<float>(world_.size()));
}

TEST_F(GradientReducerTest, MisuseIsAnError) {
  GradientReducer reducer = make();
  EXPECT_THROW(reducer.finish(), Error);
  EXPECT_THROW(reducer.end_lane(), Error);
  reducer.begin_pass(/*is_last=*/true);
  EXPECT_THROW(reducer.begin_pass(/*is_last=*/true), Error);
  reducer.mark_ready(3);
  EXPECT_THROW(reducer.mark_ready(3), Error);
  reducer.finish();
}

// Tests with lanes.

constexpr int kLanes = 8;

/// Returns numbers whose sum depends on its order.
float lane_gradient(int lane, std::size_t i) {
  return std::sin(static_cast<float>(i + 1) * 1.7F) *
         std::exp2(static_cast<float>((lane * 5 + static_cast<int>(i)) % 11));
}

/// Returns the expected sum of lanes [begin, begin + n): that of a balanced binary tree.
float tree_sum(int begin, int n, std::size_t i) {
  if (n == 1) return lane_gradient(begin, i);
  return tree_sum(begin, n / 2, i) + tree_sum(begin + n / 2, n / 2, i);
}

TEST_F(GradientReducerTest, LanesGiveTheSameBitsAtEveryRankCount) {
  if (kLanes % world_.size() != 0) GTEST_SKIP() << "refused, see below";
  GradientReducer reducer = make({.bucket_bytes = 40, .lanes = kLanes});
  ASSERT_EQ(reducer.local_lanes(), kLanes / world_.size());
  for (int step = 0; step < 2; ++step) {
    arena_.assign(kArena, 0.0F);
    for (int local = 0; local < reducer.local_lanes(); ++local) {
      const bool is_last = local + 1 == reducer.local_lanes();
      reducer.begin_pass(is_last);
      for (std::size_t p = kParameters.size(); p-- > 0;) {
        const ParameterSpan& span = kParameters[p];
        for (std::size_t i = span.begin; i < span.begin + span.count; ++i)
          arena_[i] += lane_gradient(world_.rank() * reducer.local_lanes() + local, i);
        reducer.mark_ready(p);
      }
      if (!is_last) reducer.end_lane();
    }
    reducer.finish();
    for (const ParameterSpan& span : kParameters) {
      for (std::size_t i = span.begin; i < span.begin + span.count; ++i)
        EXPECT_EQ(arena_[i], tree_sum(0, kLanes, i)) << "element " << i;
    }
  }
}

TEST(LaneOrderTest, TheOrderOfTheSumMatters) {
  int differing = 0;
  for (std::size_t i = 0; i < kArena; ++i) {
    float in_a_row = 0.0F;
    for (int lane = 0; lane < kLanes; ++lane)
      in_a_row += lane_gradient(lane, i);
    differing += in_a_row != tree_sum(0, kLanes, i) ? 1 : 0;
  }
  EXPECT_GT(differing, 5) << "the bits above would prove nothing";
}

TEST_F(GradientReducerTest, RankCountsThatDoNotDivideTheLanesAreRefused) {
  if (kLanes % world_.size() == 0) GTEST_SKIP() << world_.size() << " ranks divide the lanes";
  EXPECT_THROW(make({.lanes = kLanes}), Failure);
}

TEST_F(GradientReducerTest, TheLastPassNeedsAllOtherLanes) {
  if (kLanes % world_.size() != 0 || kLanes == world_.size()) GTEST_SKIP() << "no other lanes";
  GradientReducer reducer = make({.lanes = kLanes});
  EXPECT_THROW(reducer.begin_pass(/*is_last=*/true), Error);
}

// Tests of failures.

class FailingReducerTest : public GradientReducerTest {
protected:
  /// Runs one step on every rank. Rank `guilty` fails after begin_pass(), and all ranks throw
  /// CollectiveFailure. Ranks: collective.
  void step_with_failure(GradientReducer& reducer, int guilty) {
    cluster::run_together(world_, [&] {
      try {
        for (int local = 0; local < reducer.local_lanes(); ++local) {
          const bool is_last = local + 1 == reducer.local_lanes();
          reducer.begin_pass(is_last);
          if (world_.rank() == guilty) throw std::runtime_error("loss is not finite");
          backward_all(reducer, 0);
          if (!is_last) reducer.end_lane();
        }
        reducer.finish();
      } catch (const std::exception&) {
        EXPECT_TRUE(reducer.drain());
        throw;
      }
    });
  }

  void expect_all_hear_of_it(ReducerOptions options) {
    GradientReducer reducer = make(std::move(options));
    const int guilty = world_.size() - 1;
    for (int step = 0; step < 2; ++step) {
      try {
        step_with_failure(reducer, guilty);
        FAIL() << "nobody heard of it";
      } catch (const cluster::CollectiveFailure& e) {
        EXPECT_EQ(e.first_rank(), guilty);
        EXPECT_NE(std::string(e.what()).find("loss is not finite"), std::string::npos);
      }
    }
  }
};

TEST_F(FailingReducerTest, ARankThatFailsInBackwardDoesNotKeepItsPeersWaiting) {
  expect_all_hear_of_it({.bucket_bytes = 40});
}

TEST_F(FailingReducerTest, NorInTheMiddleOfItsLanes) {
  if (kLanes % world_.size() != 0) GTEST_SKIP() << world_.size() << " ranks cannot share the lanes";
  expect_all_hear_of_it({.bucket_bytes = 40, .lanes = kLanes});
}

/// Makes an arena that shares ownership of its values. If the reducer is leaked, MPI may still
/// write to them.
GradientArena leaked_arena() {
  const auto values = std::make_shared<std::vector<float>>(kArena);
  return {{values->data(), kArena, DType::f32, {}}, kParameters, values};
}

TEST_F(FailingReducerTest, APeerThatNeverComesIsThrownByFinish) {
  if (world_.size() == 1) GTEST_SKIP() << "one rank has no peers";
  const auto communicator = make_communicator(world_, Backend::mpi, {}, {.timeout_s = 0.2});
  if (world_.rank() == 0) {
    GradientReducer reducer(*communicator, leaked_arena(), {});
    reducer.begin_pass(/*is_last=*/true);
    try {
      reducer.finish();
      ADD_FAILURE() << "finish() returned without the peers";
    } catch (const Failure& e) {
      EXPECT_EQ(e.report().code, "E402");
    }
    EXPECT_THROW(reducer.begin_pass(/*is_last=*/true), Failure);
    EXPECT_FALSE(reducer.drain());  // returns at once
  }
  world_.barrier();
}

TEST_F(FailingReducerTest, TheDestructorWaitsForNobody) {
  const auto communicator = make_communicator(world_, Backend::mpi, {}, {});
  const auto begun = std::chrono::steady_clock::now();
  try {
    GradientReducer reducer(*communicator, leaked_arena(), {.bucket_bytes = 40});
    reducer.begin_pass(/*is_last=*/true);
    if (world_.rank() == 0) {
      for (std::size_t p = 0; p < kParameters.size(); ++p)
        reducer.mark_ready(p);
      std::this_thread::sleep_for(50ms);  // the first bucket now waits for its peers
    }
    throw std::runtime_error("something in backward");
  } catch (const std::runtime_error&) {
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
  world_.barrier();
}

}  // namespace
}  // namespace mgpu::train
