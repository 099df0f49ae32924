// Tests the counts that the plans of all jobs share.
#include <limits>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/run/plan_parts.hpp>

#include "support/made_config.hpp"

namespace mgpu::run {
namespace {

using report::Plan;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Config config_with_margin(const char* margin) {
  return testing_support::config_of(
      {{"job", "generate"}, {"run.name", "tell"}, {"devices.memory_margin", margin}});
}

/// Returns a machine with eight ranks on two nodes of 1 GiB each.
PlanMachine two_nodes() {
  PlanMachine machine;
  machine.name = "node01";
  machine.ranks = 8;
  machine.ranks_per_node = 4;
  machine.host_bytes = 1024 * kMiB;
  return machine;
}

PlanMachine with_gpus() {
  PlanMachine machine = two_nodes();
  machine.device = DeviceKind::cuda;
  machine.gpu_name = "A100";
  machine.gpu_bytes = 2048 * kMiB;
  return machine;
}

TEST(WholeBytesTest, StaysWithinWhatCanBeAddedUp) {
  EXPECT_EQ(whole_bytes(-3.0), 0U);
  EXPECT_EQ(whole_bytes(12.9), 12U);
  EXPECT_EQ(whole_bytes(1e300), std::uint64_t{1} << 60);
  EXPECT_EQ(whole_bytes(std::numeric_limits<double>::infinity()), std::uint64_t{1} << 60);
}

TEST(BeginPlanTest, NamesRunAndMachine) {
  const Plan plan = begin_plan(config_with_margin("0"), two_nodes(), "prompts");
  EXPECT_EQ(plan.name, "tell");
  EXPECT_EQ(plan.ranks, 8);
  EXPECT_EQ(plan.unit, "prompts");
  EXPECT_EQ(plan.machine, "2 nodes like node01");
  EXPECT_EQ(plan.card_bytes, 256 * kMiB);  // the share of a rank in its node
}

TEST(BeginPlanTest, AGpuHasItsOwnMemory) {
  PlanMachine machine = with_gpus();
  EXPECT_EQ(begin_plan(config_with_margin("0"), machine, "x").card_bytes, 2048 * kMiB);
  machine.ranks = 3;
  EXPECT_EQ(begin_plan(config_with_margin("0"), machine, "x").machine, "node01, A100");
}

TEST(NodesOfTest, TheLastNodeMayBeFullOrNot) {
  PlanMachine machine = two_nodes();
  EXPECT_EQ(nodes_of(machine), 2);
  machine.ranks = 9;
  EXPECT_EQ(nodes_of(machine), 3);
  machine.ranks = 1;
  EXPECT_EQ(nodes_of(machine), 1);
}

TEST(ProgramBytesTest, LibrariesComeIntoMemoryAsTheyAreUsed) {
  PlanMachine machine;
  machine.program_bytes = 100 * kMiB;
  EXPECT_EQ(program_bytes(machine), 140 * kMiB);
}

TEST(ChunkShareTest, SharesFollowOneAnother) {
  const ChunkPhase phase{"", 0, 21, 2};  // 11 chunks
  const Plan::Share first = chunk_share(phase, 0, 3);
  const Plan::Share last = chunk_share(phase, 2, 3);
  EXPECT_EQ(first.first, 0);
  EXPECT_EQ(first.count, 8);
  EXPECT_EQ(last.first, 16);
  EXPECT_EQ(last.count, 5);
  EXPECT_EQ(chunk_share({"", 0, 2, 2}, 1, 3).count, 0);
}

TEST(SharedMemoryTest, TheRanksOfANodeShareIt) {
  const SharedMemory memory = memory_of_ranks(config_with_margin("0.25"), two_nodes(), "key");
  EXPECT_STREQ(memory.what, "memory of a node");
  EXPECT_EQ(memory.copies, 4U);
  EXPECT_EQ(memory.headroom(), 192 * kMiB);  // 1024 * 0.75 / 4
}

TEST(SharedMemoryTest, FewerRanksThanANodeHoldsHaveMore) {
  PlanMachine machine = two_nodes();
  machine.ranks = 2;
  EXPECT_EQ(memory_of_ranks(config_with_margin("0"), machine, "key").headroom(), 512 * kMiB);
}

TEST(SharedMemoryTest, AGpuIsNotShared) {
  const SharedMemory memory = memory_of_ranks(config_with_margin("0.5"), with_gpus(), "key");
  EXPECT_STREQ(memory.what, "GPU memory");
  EXPECT_EQ(memory.headroom(), 1024 * kMiB);
}

TEST(LimitTest, ALimitIsAShareOfWhatThereIs) {
  Plan plan;
  add_limit(plan, "free disk", 3 * kMiB, 4 * kMiB, "run.output");
  add_limit(plan, "nobody knows", 3 * kMiB, 0, "run.output");
  ASSERT_THAT(plan.limits, SizeIs(1));
  EXPECT_EQ(plan.limits[0].what, "free disk");
  EXPECT_EQ(plan.limits[0].used, 0.75);
  EXPECT_EQ(plan.limits[0].key, "run.output");
  EXPECT_THAT(plan.limits[0].detail, HasSubstr("3.0 MiB of 4.0 MiB"));
}

TEST(LimitTest, MemoryOfANodeIsThatOfAllItsRanks) {
  Plan plan;
  const SharedMemory memory{"memory of a node", 100 * kMiB, 4, 0.9, "key"};
  int asked = 0;
  const auto fits = [&] {
    ++asked;
    return std::string("key=1");
  };
  add_memory_limit(plan, memory, 20 * kMiB, fits);
  EXPECT_EQ(plan.limits.back().used, 0.8);
  EXPECT_EQ(plan.limits.back().allowed, 0.9);
  EXPECT_EQ(plan.limits.back().fits, "");
  EXPECT_EQ(asked, 0);
  add_memory_limit(plan, memory, 23 * kMiB, fits);
  EXPECT_EQ(plan.limits.back().fits, "key=1");
}

TEST(LimitTest, MemoryThatNobodyKnowsHasNoLimit) {
  Plan plan;
  add_memory_limit(plan, {"memory of a node", 0, 4, 0.9, "key"}, 20 * kMiB,
                   [] { return std::string(); });
  EXPECT_THAT(plan.limits, IsEmpty());
}

TEST(PlannedBytesTest, AllPartsAddUp) {
  Plan plan;
  EXPECT_EQ(planned_bytes(plan), 0U);
  plan.memory = {{"weights", 5}, {"cache", 7}};
  EXPECT_EQ(planned_bytes(plan), 12U);
}

TEST(FittingRowsTest, HalvesUntilThereIsRoom) {
  const SharedMemory memory{"GPU memory", 100, 1, 1.0, "key"};
  std::vector<std::int64_t> asked;
  const auto bytes_of = [&](std::int64_t rows) {
    asked.push_back(rows);
    return static_cast<std::uint64_t>(rows * 30);
  };
  EXPECT_EQ(fitting_rows(memory, 13, bytes_of), "key=3");
  EXPECT_THAT(asked, ElementsAre(6, 3));
  EXPECT_EQ(fitting_rows(memory, 13, [](std::int64_t) { return std::uint64_t{101}; }), "");
}

TEST(GradientsTest, LayoutKeepsASumForEachLevelOfItsLanes) {
  train::BatchShape batch{};
  batch.lanes = 8;
  EXPECT_EQ(gradient_buffer_bytes(batch, 1000, 64, 2), 64U);
  EXPECT_EQ(gradient_buffer_bytes(batch, 50, 64, 2), 50U);
  batch.layout = true;
  EXPECT_EQ(gradient_buffer_bytes(batch, 1000, 64, 2), 2064U);  // a rank has 4 lanes, so 2 levels
  EXPECT_EQ(gradient_buffer_bytes(batch, 1000, 64, 8), 64U);
  EXPECT_EQ(gradient_buffer_bytes(batch, 1000, 64, 16), 64U);
}

TEST(GradientsTest, ARingSendsTwiceAllButOneShareATreeOncePerLevel) {
  Plan plan;
  train::BatchShape batch{};
  plan.ranks = 1;
  add_gradient_traffic(plan, batch, 1000);
  EXPECT_THAT(plan.traffic, IsEmpty());
  plan.ranks = 4;
  add_gradient_traffic(plan, batch, 1000);
  batch.layout = true;
  add_gradient_traffic(plan, batch, 1000);
  ASSERT_THAT(plan.traffic, SizeIs(2));
  EXPECT_EQ(plan.traffic[0].bytes_per_step, 1500U);
  EXPECT_EQ(plan.traffic[1].bytes_per_step, 2000U);
}

}  // namespace
}  // namespace mgpu::run
