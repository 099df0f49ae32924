#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "jobs/experiment/plan_simulation.hpp"
#include "jobs/experiment/schedule.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> up_to(int ranks) {
  std::vector<int> sizes;
  for (int size = 1; size <= ranks; ++size)
    sizes.push_back(size);
  return sizes;
}

Schedule with_free_ranks(std::vector<StageNeed> stages, int ranks) {
  Schedule schedule(std::move(stages), ranks);
  for (int rank = 0; rank < ranks; ++rank)
    schedule.free(rank);
  return schedule;
}

/// Frees the ranks of a stage and ends it.
void end(Schedule& schedule, const Assignment& assignment, StageState state = StageState::done) {
  schedule.end(assignment.stage, state);
  for (const int rank : assignment.members)
    schedule.free(rank);
}

TEST(ScheduleTest, AStageAloneGetsAllRanksAndTwoShareThem) {
  Schedule schedule = with_free_ranks({{{}, up_to(4)}, {{0}, up_to(4)}, {{0}, up_to(4)}}, 4);
  const Assignment first = schedule.next().value();
  EXPECT_THAT(first.members, ElementsAre(0, 1, 2, 3));
  EXPECT_FALSE(schedule.next());
  end(schedule, first);
  EXPECT_THAT(schedule.next().value().members, ElementsAre(0, 1));
  EXPECT_THAT(schedule.next().value().members, ElementsAre(2, 3));
  EXPECT_FALSE(schedule.is_over());
}

/// The memory of one node with `ranks` ranks and 10 bytes, where a rank of stage s needs bytes[s].
NodeMemory ten_bytes(int ranks, std::vector<std::uint64_t> bytes) {
  return {std::vector<int>(static_cast<std::size_t>(ranks)),
          {10},
          [bytes = std::move(bytes)](std::size_t stage) { return bytes.at(stage); }};
}

TEST(ScheduleTest, StagesThatDoNotFitTogetherRunOneAfterTheOther) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{}, {1}}, {{}, {1}}}, 3);
  schedule.limit_memory(ten_bytes(3, {6, 5, 4}));
  const Assignment first = schedule.next().value();
  EXPECT_EQ(first.stage, 0U);
  EXPECT_EQ(schedule.next().value().stage, 2U);  // 6 + 4 fit, 6 + 5 do not
  EXPECT_FALSE(schedule.next());
  EXPECT_THAT(schedule.waited_for_memory(), ElementsAre(1));
  EXPECT_FALSE(schedule.is_over());
  end(schedule, first);
  EXPECT_EQ(schedule.next().value().stage, 1U);
}

TEST(ScheduleTest, AStageGetsAsManyRanksAsFitOrRunsAlone) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{}, up_to(3), 3}, {{}, {2, 3}, 3}}, 4);
  schedule.limit_memory(ten_bytes(4, {4, 3, 11}));
  const Assignment first = schedule.next().value();
  const Assignment second = schedule.next().value();
  EXPECT_THAT(second.members, ElementsAre(1, 2));  // 4 + 2 * 3 fit, 4 + 3 * 3 do not
  EXPECT_FALSE(schedule.next());
  end(schedule, first);
  EXPECT_FALSE(schedule.next());
  end(schedule, second);
  EXPECT_THAT(schedule.next().value().members, ElementsAre(0, 1));
}

TEST(ScheduleTest, AStageAloneGetsNoMoreRanksThanFit) {
  Schedule schedule = with_free_ranks({{{}, up_to(4), 4}}, 4);
  schedule.limit_memory(ten_bytes(4, {4}));
  EXPECT_THAT(schedule.next().value().members, ElementsAre(0, 1));
}

TEST(ScheduleTest, EachNodeHasItsMemoryAndAFailedStageGivesItBack) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{}, {1}}, {{}, {1}}}, 4);
  NodeMemory memory = ten_bytes(4, {8, 8, 8});
  memory.node_of = {0, 0, 1, 1};
  memory.bytes = {10, 10};
  schedule.limit_memory(memory);
  const Assignment first = schedule.next().value();
  EXPECT_THAT(schedule.next().value().members, ElementsAre(2));  // node 0 is full, with rank 1 free
  EXPECT_FALSE(schedule.next());
  end(schedule, first, StageState::failed);
  EXPECT_EQ(schedule.next().value().stage, 2U);
}

TEST(ScheduleTest, TheLongestChainOrTheLatestRoundComesFirst) {
  const std::vector<StageNeed> stages = {{{}, {1}}, {{0}, {1}}, {{}, {1}, 0, 1}, {{}, {1}}};
  Schedule by_chain(stages, 1);
  EXPECT_THAT(by_chain.ready(), ElementsAre(0, 2, 3));
  std::vector<StageNeed> preferred = stages;
  preferred[3].preference = 1.0;
  EXPECT_THAT(Schedule(preferred, 1).ready(), ElementsAre(3, 0, 2));
  Schedule by_round(stages, 1, Urgency::round);
  EXPECT_THAT(by_round.ready(), ElementsAre(2, 3, 0));
}

TEST(ScheduleTest, AStageThatIsRepeatedBeginsAgainAndKeepsOthersWaiting) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{0}, {1}}}, 1);
  const Assignment first = schedule.next().value();
  schedule.retry(first.stage);
  schedule.free(0);
  EXPECT_FALSE(schedule.is_over());
  EXPECT_EQ(schedule.next().value().stage, 0U);
  EXPECT_FALSE(schedule.next());
}

TEST(ScheduleTest, AStageGetsNoMoreRanksThanItWishesAndASizeThatItAccepts) {
  Schedule schedule = with_free_ranks({{{}, {1, 2, 4}, 2}, {{}, {1, 2, 4}, 4}}, 6);
  EXPECT_THAT(schedule.next().value().members, ElementsAre(0, 1));
  EXPECT_THAT(schedule.next().value().members, ElementsAre(2, 3, 4, 5));
  Schedule three = with_free_ranks({{{}, {1, 2, 4}, 4}}, 3);
  EXPECT_THAT(three.next().value().members, ElementsAre(0, 1));
}

TEST(ScheduleTest, AStageWaitsForTheRanksThatItNeeds) {
  Schedule schedule = with_free_ranks({{{}, {1}, 1}, {{}, {4}}, {{}, {1}}}, 4);
  const Assignment first = schedule.next().value();
  EXPECT_EQ(first.stage, 0U);
  EXPECT_EQ(schedule.next().value().stage, 2U);  // three ranks are too few for stage 1
  EXPECT_FALSE(schedule.next());
}

TEST(ScheduleTest, TheLongestChainComesFirst) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{}, {1}}, {{1}, {1}}}, 1);
  EXPECT_EQ(schedule.next().value().stage, 1U);
}

TEST(ScheduleTest, AFailureLeavesOutAllStagesAfterIt) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{0}, {1}}, {{1}, {1}}, {{}, {1}}}, 1);
  end(schedule, schedule.next().value(), StageState::failed);
  EXPECT_EQ(schedule.state(1), StageState::left_out);
  EXPECT_EQ(schedule.state(2), StageState::left_out);
  EXPECT_THAT(schedule.ready(), ElementsAre(3));
  schedule.stop();
  EXPECT_THAT(schedule.ready(), IsEmpty());
  EXPECT_TRUE(schedule.is_over());
}

TEST(ScheduleTest, AReusedStageNeedsNoRanks) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{0}, {1}}}, 1);
  schedule.reuse(0);
  EXPECT_EQ(schedule.next().value().stage, 1U);
  EXPECT_THROW(schedule.reuse(0), Error);
  EXPECT_THROW(schedule.fail(0), Error);
  EXPECT_THROW(schedule.end(0, StageState::done), Error);
}

TEST(ScheduleTest, AStoppedStageLetsNoOtherBegin) {
  Schedule schedule = with_free_ranks({{{}, {1}}, {{}, {1}}}, 1);
  end(schedule, schedule.next().value(), StageState::stopped);
  EXPECT_FALSE(schedule.next());
  EXPECT_TRUE(schedule.is_over());
}

// --- simulated runs --------------------------------------------------------------------------

/// A graph of stages. A stage on n ranks takes work / n seconds.
struct Graph {
  std::vector<StageNeed> stages;
  std::vector<double> work;
};

/// Returns a graph of `cells` chains, each with `rounds` rounds of generate, score, train and
/// evaluate.
/// `sizes`: numbers of ranks that all stages accept.
Graph matrix_of(std::size_t cells, std::size_t rounds, const std::vector<int>& sizes,
                std::mt19937_64& draws) {
  constexpr std::size_t kStages = 4;  // of a round
  Graph graph;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    for (std::size_t stage = 0; stage < rounds * kStages; ++stage) {
      StageNeed need{{}, sizes};
      if (stage > 0) need.after.push_back(graph.stages.size() - 1);
      graph.stages.push_back(need);
      graph.work.push_back(1.0 + static_cast<double>(draws() % 1000) / 10.0);
    }
  }
  return graph;
}

/// Returns how many seconds a simulated run of the graph takes.
double makespan(const Graph& graph, int ranks) {
  Schedule schedule = with_free_ranks(graph.stages, ranks);
  double end = 0.0;
  for (const SimulatedStage& stage : simulate(schedule, [&](const Assignment& assignment) {
         return graph.work[assignment.stage] / static_cast<double>(assignment.members.size());
       }))
    end = std::max(end, stage.end_s);
  return end;
}

double bound(const Graph& graph, int ranks) {
  return time_bound(graph.stages, graph.work, ranks).seconds();
}

TEST(ScheduleTest, ASimulationSaysWhenStagesRunAndTheBoundWhatIsLeast) {
  const Graph graph{{{{}, up_to(2)}, {{0}, {1}}, {{0}, {1}}, {{1}, {1}}}, {4.0, 1.0, 3.0, 1.0}};
  Schedule schedule = with_free_ranks(graph.stages, 2);
  const auto stages = simulate(schedule, [&](const Assignment& assignment) {
    return graph.work[assignment.stage] / static_cast<double>(assignment.members.size());
  });
  EXPECT_EQ(stages[0].end_s, 2.0);
  EXPECT_EQ(stages[1].end_s, 3.0);
  EXPECT_EQ(stages[2].end_s, 5.0);
  EXPECT_EQ(stages[3].begin_s, 3.0);
  EXPECT_THAT(stages[0].members, ElementsAre(0, 1));
  const TimeBound least = time_bound(graph.stages, graph.work, 2);
  EXPECT_EQ(least.work_s, 4.5);
  EXPECT_EQ(least.chain_s, 5.0);
  EXPECT_EQ(least.seconds(), 5.0);
}

struct Shape {
  std::size_t cells, rounds;
};

TEST(ScheduleTest, TheTimeOfMixedMatricesIsNearTheBound) {
  constexpr Shape kShapes[] = {{3, 5}, {5, 3}, {15, 1}};  // 60 stages each
  std::mt19937_64 draws(1);
  std::vector<double> ratios;
  for (int matrix = 0; matrix < 100; ++matrix) {
    const int ranks = 4 << (draws() % 3);
    const Shape shape = kShapes[draws() % 3];
    std::vector<int> sizes{1, 2, 4, 8, 16};
    std::erase_if(sizes, [&](int size) { return size > ranks; });
    const Graph graph = matrix_of(shape.cells, shape.rounds, sizes, draws);
    ASSERT_EQ(graph.stages.size(), 60U);
    ratios.push_back(makespan(graph, ranks) / bound(graph, ranks));
  }
  std::ranges::sort(ratios);
  EXPECT_LE(ratios[50], 1.10);
  EXPECT_LE(ratios.back(), 1.25);
  std::printf("measured: makespan / bound, median %.3f, worst %.3f\n", ratios[50], ratios.back());
}

TEST(ScheduleTest, ThousandsOfStagesOnAThousandRanksEnd) {
  std::mt19937_64 draws(2);
  const Graph graph = matrix_of(500, 5, {1, 2, 4, 8, 16}, draws);
  ASSERT_EQ(graph.stages.size(), 10'000U);
  EXPECT_LE(makespan(graph, 1024) / bound(graph, 1024), 1.25);
}

}  // namespace
}  // namespace mgpu::jobs
