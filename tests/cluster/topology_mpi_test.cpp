#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/cluster/topology.hpp>

namespace mgpu::cluster {
namespace {

/// Sets MGPU_RANKS_PER_NODE for one test.
class NodesOf {
public:
  explicit NodesOf(const char* ranks) { setenv(kName, ranks, 1); }
  ~NodesOf() { unsetenv(kName); }
  NodesOf(const NodesOf&) = delete;
  NodesOf& operator=(const NodesOf&) = delete;
  NodesOf(NodesOf&&) = delete;
  NodesOf& operator=(NodesOf&&) = delete;

private:
  static constexpr const char* kName = "MGPU_RANKS_PER_NODE";
};

TEST(TopologyTest, OneMachineIsOneNode) {
  const Group world = Group::world();
  const Topology topology(world, 1);

  EXPECT_EQ(topology.num_nodes(), 1);
  EXPECT_EQ(topology.node().size(), world.size());
  EXPECT_EQ(topology.place().node_rank, world.rank());
  EXPECT_EQ(topology.places().size(), static_cast<std::size_t>(world.size()));
  EXPECT_FALSE(topology.place().host.empty());
}

TEST(TopologyTest, RanksCanBelieveInSeveralNodes) {
  const Group world = Group::world();
  const NodesOf two("2");
  const Topology topology(world, 1);

  EXPECT_EQ(topology.num_nodes(), (world.size() + 1) / 2);
  for (int r = 0; r < world.size(); ++r) {
    const RankPlace& place = topology.places()[static_cast<std::size_t>(r)];
    EXPECT_EQ(place.node_index, r / 2);
    EXPECT_EQ(place.node_rank, r % 2);
  }
  EXPECT_EQ(topology.node().rank(), world.rank() % 2);
}

TEST(TopologyTest, BadNodeSizesAreRefusedOnEveryRank) {
  const Group world = Group::world();
  for (const char* bad : {"0", "two", "-1", "2x", ""}) {
    const NodesOf nodes(bad);
    try {
      const Topology topology(world, 1);
      ADD_FAILURE() << "'" << bad << "' was taken";
    } catch (const Failure& e) {
      EXPECT_EQ(e.report().code, "E213");
      EXPECT_EQ(e.exit_code(), ExitCode::usage);
    }
  }
}

TEST(TopologyTest, GroupsMayDifferInSize) {
  const Group world = Group::world();
  if (world.size() % 4 != 0) {
    EXPECT_THROW(Topology(world, std::vector<int>{1, 1, 2}), Failure);
    return;
  }
  const Topology topology(world, std::vector<int>{1, 1, 2});

  const std::vector<int> groups{0, 1, 2, 2};
  const auto place = static_cast<std::size_t>(world.rank() % 4);
  EXPECT_EQ(topology.num_groups(), 3 * (world.size() / 4));
  EXPECT_EQ(topology.group_index(), 3 * (world.rank() / 4) + groups[place]);
  EXPECT_EQ(topology.model_group().size(), place < 2 ? 1 : 2);
  EXPECT_EQ(topology.is_leader(), place != 3);
}

TEST(TopologyTest, EachGroupHoldsConsecutiveRanks) {
  const Group world = Group::world();
  if (world.size() % 2 != 0) GTEST_SKIP() << "needs an even number of ranks";
  const Topology topology(world, 2);

  EXPECT_EQ(topology.num_groups(), world.size() / 2);
  EXPECT_EQ(topology.group_index(), world.rank() / 2);
  EXPECT_EQ(topology.model_group().size(), 2);
  EXPECT_EQ(topology.model_group().rank(), world.rank() % 2);
  EXPECT_EQ(topology.is_leader(), world.rank() % 2 == 0);
  // across_groups() has the ranks that hold the same part of the model: 0, 2, ... or 1, 3, ...
  EXPECT_EQ(topology.across_groups().size(), world.size() / 2);
  EXPECT_EQ(topology.across_groups().all_reduce(world.rank(), ReduceOp::min), world.rank() % 2);
}

ErrorReport refusal(const Group& world, int gpus_per_model) {
  try {
    const Topology topology(world, gpus_per_model);
  } catch (const Failure& e) {
    return e.report();
  }
  return {};
}

TEST(TopologyTest, AnUnevenSplitIsRefusedWithTheOnesThatWork) {
  const Group world = Group::world();
  const ErrorReport report = refusal(world, world.size() == 3 ? 2 : 3);
  if (world.size() == 1) {
    EXPECT_EQ(report.sentence, "1 rank cannot be split into models of 3 GPUs");
    EXPECT_EQ(report.help, "--gpus-per-model 1 gives 1 worker; or start 3 ranks");
  } else if (world.size() == 3) {
    EXPECT_EQ(report.sentence, "3 ranks cannot be split into models of 2 GPUs");
    EXPECT_EQ(report.help, "--gpus-per-model 3 gives 1 worker; or start 2 or 4 ranks");
  } else if (world.size() == 4) {
    EXPECT_EQ(report.sentence, "4 ranks cannot be split into models of 3 GPUs");
    EXPECT_EQ(report.help, "--gpus-per-model 2 gives 2 workers, 4 gives 1; or start 3 or 6 ranks");
  }
  EXPECT_EQ(report.code, "E121");
  EXPECT_EQ(report.exit, ExitCode::config);
}

}  // namespace
}  // namespace mgpu::cluster
