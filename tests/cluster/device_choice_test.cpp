#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/device_choice.hpp>

namespace mgpu::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Makes nodes of `ranks` ranks that all see the same `gpus` cards.
std::vector<RankDevices> machine(int nodes, int ranks, int gpus) {
  std::vector<RankDevices> machine_ranks;
  for (int node = 0; node < nodes; ++node) {
    const std::string host = std::string("node0").append(std::to_string(node + 1));
    for (int rank = 0; rank < ranks; ++rank) {
      RankDevices rank_devices{{node, rank, host}, {}, gpus == 0 ? "no driver" : "", "", ""};
      for (int gpu = 0; gpu < gpus; ++gpu)
        rank_devices.uuids.push_back("GPU-" + std::to_string(10 * node + gpu) + "aa-bbb-ccc");
      machine_ranks.push_back(rank_devices);
    }
  }
  return machine_ranks;
}

std::vector<int> indices(const DevicePlan& plan) {
  std::vector<int> all;
  for (const Device& device : plan.devices)
    all.push_back(device.kind == DeviceKind::cuda ? device.index : -1);
  return all;
}

ErrorReport refusal(const std::vector<RankDevices>& ranks, const ClusterConfig& config) {
  try {
    plan_devices(ranks, config);
  } catch (const Failure& e) {
    return e.report();
  }
  return {};
}

ClusterConfig with_backend(Backend backend) {
  ClusterConfig config;
  config.backend = backend;
  return config;
}

ClusterConfig with_gpus(std::vector<int> gpus) {
  ClusterConfig config;
  config.gpus = std::move(gpus);
  return config;
}

TEST(PlanDevicesTest, WithoutGpusTheCpuComputesAndSaysSo) {
  const DevicePlan plan = plan_devices(machine(1, 2, 0), {});
  EXPECT_EQ(plan.backend, Backend::mpi);
  EXPECT_THAT(indices(plan), ElementsAre(-1, -1));
  EXPECT_EQ(plan.note, "on the CPU: no driver");
}

TEST(PlanDevicesTest, OneGpuPerRankMeansNccl) {
  const DevicePlan plan = plan_devices(machine(2, 4, 4), {});
  EXPECT_EQ(plan.backend, Backend::nccl);
  EXPECT_THAT(indices(plan), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
}

TEST(PlanDevicesTest, ATaskThatSeesOnlyItsOwnGpuTakesIt) {
  std::vector<RankDevices> ranks = machine(1, 3, 1);
  ranks[1].uuids = {"GPU-1"};
  ranks[2].uuids = {"GPU-2"};
  const DevicePlan plan = plan_devices(ranks, {});
  EXPECT_EQ(plan.backend, Backend::nccl);
  EXPECT_THAT(indices(plan), ElementsAre(0, 0, 0));
}

TEST(PlanDevicesTest, SharedGpusMeanStagedAndSaySo) {
  const DevicePlan plan = plan_devices(machine(1, 3, 2), {});
  EXPECT_EQ(plan.backend, Backend::staged);
  EXPECT_THAT(indices(plan), ElementsAre(0, 1, 0));
  EXPECT_EQ(plan.note,
            "ranks 0 and 2 share GPU GPU-0aa on node01: tensors travel through pinned host memory");
}

TEST(PlanDevicesTest, ListedGpusAreTakenInTheirOrder) {
  EXPECT_THAT(indices(plan_devices(machine(2, 2, 8), with_gpus({5, 3}))), ElementsAre(5, 3, 5, 3));
}

TEST(PlanDevicesTest, MpiLeavesTheGpusAlone) {
  ClusterConfig config = with_backend(Backend::mpi);
  EXPECT_THAT(indices(plan_devices(machine(1, 2, 2), config)), ElementsAre(-1, -1));
  config.gpus = {0, 1};
  EXPECT_THAT(plan_devices(machine(1, 2, 2), config).note, HasSubstr("devices.gpus is not used"));
}

TEST(PlanDevicesTest, AGpuOutOfRangeIsNamedWithTheRange) {
  std::vector<RankDevices> ranks = machine(1, 4, 2);
  const ErrorReport report = refusal(ranks, with_gpus({0, 1, 2, 3}));
  EXPECT_EQ(report.code, "E201");
  EXPECT_EQ(report.exit, ExitCode::unavailable);
  EXPECT_EQ(report.sentence, "GPU 2 is not available. Valid range: [0, 1]");
  EXPECT_THAT(report.lines, ElementsAre("  node01 has 2 GPUs; `devices.gpus` is [0, 1, 2, 3]"));
  EXPECT_EQ(refusal(ranks, with_gpus({-1})).sentence,
            "GPU -1 is not available. Valid range: [0, 1]");
}

TEST(PlanDevicesTest, AnEmptyListIsRefused) {
  EXPECT_EQ(refusal(machine(1, 1, 1), with_gpus({})).sentence, "No GPU IDs provided");
}

TEST(PlanDevicesTest, MoreIdsThanRanksAreRefused) {
  const ErrorReport report = refusal(machine(1, 2, 4), with_gpus({0, 1, 2}));
  EXPECT_EQ(report.code, "E205");
  EXPECT_EQ(report.sentence, "Number of GPU IDs does not match num_gpus");
  EXPECT_THAT(report.lines, ElementsAre("  `devices.gpus` lists 3 GPUs, node01 has 2 ranks"));
}

TEST(PlanDevicesTest, FewerListedGpusThanRanksAreSharedOnlyWhereThatIsAskedFor) {
  ClusterConfig config = with_gpus({1});
  EXPECT_EQ(refusal(machine(1, 2, 2), config).code, "E205");
  config.backend = Backend::staged;
  EXPECT_THAT(indices(plan_devices(machine(1, 2, 2), config)), ElementsAre(1, 1));
}

TEST(PlanDevicesTest, NcclRefusesTwoRanksOnOneGpu) {
  std::vector<RankDevices> ranks = machine(2, 4, 2);
  for (RankDevices& rank : ranks)
    rank.cuda_visible_devices = "0,1";
  ranks[0].uuids = {"GPU-7", "GPU-8"};
  ranks[1].uuids = {"GPU-5", "GPU-6"};
  const ErrorReport report = refusal(ranks, with_backend(Backend::nccl));
  EXPECT_EQ(report.code, "E202");
  EXPECT_EQ(report.sentence, "ranks 4 and 6 both got GPU GPU-10aa on node02");
  EXPECT_THAT(report.lines, ElementsAre("  NCCL allows one rank per GPU. This node has 4 ranks:",
                                        "  node02 has 2 GPUs (CUDA_VISIBLE_DEVICES=0,1)"));
  EXPECT_THAT(report.help, HasSubstr("--ntasks-per-node=2"));
}

TEST(PlanDevicesTest, NcclTakesRanksWithAHostIdEachOntoOneGpu) {
  std::vector<RankDevices> ranks = machine(1, 2, 1);
  ranks[0].nccl_host_id = ranks[1].nccl_host_id = "card";
  EXPECT_EQ(refusal(ranks, with_backend(Backend::nccl)).code, "E202");
  ranks[1].nccl_host_id = "other";
  const DevicePlan plan = plan_devices(ranks, with_backend(Backend::nccl));
  EXPECT_EQ(plan.backend, Backend::nccl);
  EXPECT_THAT(indices(plan), ElementsAre(0, 0));
  EXPECT_THAT(plan.note, HasSubstr("NCCL_HOSTID"));
  EXPECT_EQ(plan_devices(ranks, {}).backend, Backend::staged);
}

TEST(PlanDevicesTest, ARankWithoutGpuIsNamed) {
  std::vector<RankDevices> ranks = machine(2, 2, 2);
  ranks[3].uuids.clear();
  ranks[3].why_none = "no CUDA-capable device is detected";
  const ErrorReport report = refusal(ranks, {});
  EXPECT_EQ(report.code, "E203");
  EXPECT_EQ(report.sentence, "no GPU is visible to rank 3 on node02");
  EXPECT_THAT(report.lines,
              ElementsAre("  no CUDA-capable device is detected", "  node02 has 0 GPUs"));
  EXPECT_EQ(refusal(machine(1, 1, 0), with_backend(Backend::nccl)).code, "E203");
  EXPECT_EQ(refusal(machine(1, 1, 0), with_gpus({0})).code, "E203");
}

TEST(VisibleGpusTest, AMachineWithoutDriverHasNoneAndSaysWhy) {
  const VisibleGpus visible = visible_gpus();
  EXPECT_EQ(visible.gpus.empty(), !visible.why_none.empty());
}

}  // namespace
}  // namespace mgpu::cluster
