#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/report/banner.hpp>

namespace mgpu::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(BannerTest, OpeningNamesConfigFolderAndRanks) {
  BannerHead head;
  head.version = "0.1.0";
  head.git = "4f2c1e9, clean";
  head.job = "train";
  head.sources = {"conf/train_ad.yaml", "conf/gpu/a100_80gb.yaml"};
  head.overrides = 1;
  head.run_directory = "/scratch/me/outputs/train_ad/2026-11-21_10-04-51";
  head.machine = "2 nodes x 4 A100-SXM4-80GB";
  head.device = DeviceKind::cuda;
  head.nodes = {{"node01", {0, 1, 2, 3}, {0, 1, 2, 3}}, {"node02", {4, 5, 6, 7}, {0, 1, 2, 3}}};

  EXPECT_EQ(head_lines(head),
            "mgpu_spmd 0.1.0 (git 4f2c1e9, clean)  job train  conf/train_ad.yaml + "
            "conf/gpu/a100_80gb.yaml + 1 override\n"
            "run directory  /scratch/me/outputs/train_ad/2026-11-21_10-04-51\n"
            "machine        2 nodes x 4 A100-SXM4-80GB\n"
            "rank -> GPU    node01: 0-3 -> 0 1 2 3  node02: 4-7 -> 0 1 2 3\n");
}

TEST(BannerTest, OpeningOfOneCpuRankHasNoArrow) {
  BannerHead head;
  head.version = "0.1.0";
  head.job = "train";
  head.sources = {"a\x1b.yaml"};
  head.run_directory = "/o";
  head.nodes = {{"box", {0, 1}, {}}};

  EXPECT_EQ(
      head_lines(head),
      "mgpu_spmd 0.1.0  job train  a\\x1b.yaml\nrun directory  /o\nranks          box: 0-1\n");
}

// The expected text is a fixed wording that must not change in any word.
TEST(BannerTest, TrainingBlockIsWordForWord) {
  EXPECT_EQ(training_block({4, DeviceKind::cuda, "fp16", 1}),
            "============================================================\n"
            "Multi-GPU Training Configuration\n"
            "============================================================\n"
            "Number of processes: 4\n"
            "Distributed type: DistributedType.MULTI_GPU\n"
            "Mixed precision: fp16\n"
            "Gradient accumulation steps: 1\n"
            "Main process device: cuda:0\n"
            "============================================================\n");
}

TEST(BannerTest, TrainingBlockOnTheCpu) {
  EXPECT_THAT(training_block({2, DeviceKind::cpu, "no", 1}),
              HasSubstr("DistributedType.MULTI_CPU\nMixed precision: no\n"));
  EXPECT_THAT(training_block({1, DeviceKind::cpu, "no", 1}), HasSubstr("DistributedType.NO\n"));
  EXPECT_THAT(training_block({1, DeviceKind::cpu, "no", 1}), HasSubstr("device: cpu\n"));
  EXPECT_THAT(training_block({1, DeviceKind::cuda, "no", 4, 3}),
              AllOf(HasSubstr("DistributedType.NO\n"), HasSubstr("steps: 4\n"),
                    HasSubstr("device: cuda:3\n")));
}

// The expected text is a fixed wording that must not change.
TEST(BannerTest, WorkerBlockIsWordForWord) {
  WorkerBlock block;
  block.title = "Multi-GPU Teacher Logits Generation";
  block.workers = {
      {{"a", 0}, {"a", 1}}, {{"a", 2}, {"a", 3}}, {{"a", 4}, {"a", 5}}, {{"a", 6}, {"a", 7}}};

  EXPECT_EQ(worker_block(block),
            "==================================================\n"
            "Multi-GPU Teacher Logits Generation\n"
            "==================================================\n"
            "Configuration:\n"
            "  Total GPUs available: 8 (0,1,2,3,4,5,6,7)\n"
            "  GPUs per model: 2\n"
            "  Number of workers: 4\n"
            "\n"
            "Worker GPU assignments:\n"
            "  Worker 0: GPUs 0,1\n"
            "  Worker 1: GPUs 2,3\n"
            "  Worker 2: GPUs 4,5\n"
            "  Worker 3: GPUs 6,7\n");
}

TEST(BannerTest, WorkerBlockOfSeveralNodesNamesThem) {
  WorkerBlock block;
  block.workers = {{{"n1", 0}, {"n1", 1}}, {{"n2", 0}, {"n2", 1}}};

  EXPECT_THAT(worker_block(block), HasSubstr("4 (0,1) on each of 2 nodes\n"));
  EXPECT_THAT(worker_block(block), HasSubstr("  Worker 1: n2:GPUs 0,1\n"));
}

TEST(BannerTest, WorkerBlockOfUnequalNodesAndWorkersListsThem) {
  WorkerBlock block;
  block.workers = {{{"n1", 1}}, {{"n1", 3}, {"n2", 0}}};

  EXPECT_THAT(worker_block(block), AllOf(HasSubstr("  Total GPUs available: 3 (n1: 1,3; n2: 0)\n"),
                                         HasSubstr("  GPUs per model: 1 or 2\n"),
                                         HasSubstr("  Worker 1: n1:GPUs 3 n2:GPUs 0\n")));
}

TEST(BannerTest, WorkersOnTheCpuHaveRanks) {
  WorkerBlock block;
  block.device = DeviceKind::cpu;
  block.workers = {{{"a", 0}, {"a", 1}}, {{"a", 2}, {"a", 3}}};

  EXPECT_THAT(worker_block(block), HasSubstr("  Total ranks available: 4 (0,1,2,3)\n"
                                             "  Ranks per model: 2\n"
                                             "  Number of workers: 2\n"
                                             "\n"
                                             "Worker rank assignments:\n"
                                             "  Worker 0: ranks 0,1\n"
                                             "  Worker 1: ranks 2,3\n"));
}

TEST(BannerTest, FactsShowArithmeticAndSources) {
  BannerFacts facts;
  facts.device = DeviceKind::cuda;
  facts.batch = {128, 2, 8, 2048, 50000};
  facts.data = "412,300 histories";
  facts.not_default = {{"run.seed", "7", "command line"}, {"hub.token", "hf_x", "conf/a.yaml:3"}};

  EXPECT_EQ(fact_lines(facts),
            "batch          128 per GPU x 2 passes x 8 copies = 2048 samples per optimizer step; "
            "50000 steps = 102.4 M samples\n"
            "data           412,300 histories\n"
            "not default    run.seed=7 (command line)  hub.token=*** (conf/a.yaml:3)\n");
}

TEST(BannerTest, UnequalSharesAreNotCalledAProduct) {
  BannerFacts facts;
  facts.batch = {11, 1, 3, 32, 10};
  EXPECT_EQ(fact_lines(facts),
            "batch          11 per rank x 1 pass x 3 copies at most, 32 samples per optimizer "
            "step; 10 steps = 320 samples\n");
}

TEST(BannerTest, LongListsWrapUnderTheText) {
  BannerFacts facts;
  for (int i = 0; i < 6; ++i)
    facts.not_default.push_back({"section.some_long_key", std::to_string(i), "conf/x.yaml:10"});
  const std::string text = fact_lines(facts);

  EXPECT_THAT(text, HasSubstr("\n               section.some_long_key="));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

}  // namespace
}  // namespace mgpu::report
