// Tests the texts about a model's memory, and the plan of a job on models.
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/run/model_plan.hpp>

#include "support/made_config.hpp"
#include "support/project_folder.hpp"

namespace mgpu::run {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using testing_support::config_of;
using testing_support::Keys;

constexpr std::int64_t kKiB = 1024;

constexpr BatchNames kCompletions{"work.batch_size", "completion", "completions", "work.length"};
constexpr BatchNames kTexts{"other.batch_size", "text", "texts", "other.length"};

TEST(MemoryTextTest, PartsThatAreNothingAreLeftOut) {
  EXPECT_EQ(use_text({.weights = 10 * kKiB, .cache = 0, .activations = 2 * kKiB, .buffers = 0}),
            "12.0 KiB = weights 10.0 KiB + activations 2.0 KiB");
  EXPECT_EQ(use_text({.weights = kKiB, .cache = kKiB, .activations = kKiB, .buffers = kKiB}),
            "4.0 KiB = weights 1.0 KiB + cache 1.0 KiB + activations 1.0 KiB + buffers 1.0 KiB");
  EXPECT_EQ(use_text({}), "0 B");
}

TEST(MemoryTextTest, ABatchIsCountedInItsOwnWord) {
  EXPECT_EQ(at_once_text(1, kCompletions), "1 completion at once");
  EXPECT_EQ(at_once_text(8, kTexts), "8 texts at once");
}

TEST(RowCountsTest, AnAutomaticBatchDoesNotDependOnSmallChunks) {
  const RowCounts small{.chunk_rows = 2, .rows = 100};
  EXPECT_EQ(most_at_once(small, 0, DeviceKind::cpu), 32);
  EXPECT_EQ(most_at_once(small, 0, DeviceKind::cuda), 100);
  EXPECT_EQ(most_at_once({.chunk_rows = 50, .rows = 1000}, 0, DeviceKind::cpu), 50);
  EXPECT_EQ(
      most_at_once({.chunk_rows = 2, .rows = 1000, .results_per_row = 4}, 0, DeviceKind::cuda),
      256);
  EXPECT_EQ(most_at_once(small, 7, DeviceKind::cpu), 7);
  EXPECT_EQ(most_at_once(small, 500, DeviceKind::cuda), 100);
}

TEST(RowCountsTest, ABatchHasWholeChunks) {
  EXPECT_EQ(rows_at_once({.chunk_rows = 2, .rows = 100}, 7), 8);
  EXPECT_EQ(rows_at_once({.chunk_rows = 2, .rows = 100, .results_per_row = 4}, 16), 4);
  EXPECT_EQ(rows_at_once({.chunk_rows = 32, .rows = 100}, 7), 32);
  EXPECT_EQ(rows_at_once({.chunk_rows = 32, .rows = 5}, 7), 5);
}

TEST(MemoryTextTest, WhatFitsIsSomethingToType) {
  const ModelKeys keys = read_model_keys(config_of({{"job", "generate"}}));
  EXPECT_EQ(fit_text(keys, std::nullopt, kCompletions), "");
  EXPECT_EQ(fit_text(keys, lm::MemoryFit{.ranks = 2, .batch_size = 4, .use = {}}, kCompletions),
            "devices.gpus_per_model=2 work.batch_size=4");
  const ModelKeys grouped =
      read_model_keys(config_of({{"job", "generate"}, {"devices.groups", "[1, 2]"}}));
  EXPECT_EQ(fit_text(grouped, lm::MemoryFit{.ranks = 4, .batch_size = 1, .use = {}}, kTexts),
            "devices.groups=[4] other.batch_size=1");
}

TEST(GroupsTextTest, GroupsAreNamedByTheirSizes) {
  const auto text = [](const char* key, const char* value) {
    return groups_text(read_model_keys(
        config_of({{"job", "generate"}, {key, value}, {"model.parallel", "pipeline"}})));
  };
  EXPECT_EQ(text("devices.gpus_per_model", "1"), "");
  EXPECT_EQ(text("devices.gpus_per_model", "3"), ", on 3 ranks each (pipeline)");
  EXPECT_EQ(text("devices.groups", "[1, 2]"), ", on 1, 2 ranks in turn (pipeline)");
}

/// Makes plans for a model with two layers and 100 samples, on a machine with four ranks.
class ModelPlanTest : public testing::Test {
protected:
  ModelPlanTest() {
    machine_.name = "node01";
    machine_.ranks = 4;
    machine_.ranks_per_node = 4;
    machine_.host_bytes = std::uint64_t{8} << 30;
  }

  static ModelPlan::Work work() {
    ModelPlan::Work work;
    work.model = lm::read_lm_config(testing_support::lm_goldens() / "llama");
    work.demand.batch_size = 16;
    work.demand.longest = 64;
    work.names = kCompletions;
    work.unit = "prompts";
    work.samples = 100;
    work.other_bytes = 5000;
    work.other_name = "prompts";
    work.disk = 100'000'000;
    return work;
  }

  ModelPlan plan(const Keys& more = {}) {
    Keys keys = {{"job", "generate"}, {"run.chunk_size", "8"}, {"devices.memory_margin", "0"}};
    keys.insert(more.begin(), more.end());
    const Config config = config_of(keys);
    job_keys_ = read_job_keys(config);
    model_keys_ = read_model_keys(config);
    return {config, job_keys_, model_keys_, machine_, work()};
  }

  PlanMachine machine_;
  JobKeys job_keys_;
  ModelKeys model_keys_;
};

TEST_F(ModelPlanTest, EachGroupHasAShareOfTheChunks) {
  ModelPlan plan = this->plan({{"devices.gpus_per_model", "2"}});
  plan.add_shares();

  const auto& shares = plan.plan().shares;
  ASSERT_THAT(shares, SizeIs(2));
  EXPECT_EQ(shares[0].who, "ranks 0 to 1");
  EXPECT_EQ(shares[1].who, "ranks 2 to 3");
  EXPECT_EQ(shares[0].count, 56);  // 7 of 13 chunks
  EXPECT_EQ(shares[1].first, 56);
  EXPECT_EQ(shares[1].count, 44);
  EXPECT_THAT(plan.plan().notes, ElementsAre(HasSubstr("who is free claims the next chunk")));
}

TEST_F(ModelPlanTest, SharesBeforehandNeedNoNote) {
  ModelPlan plan = this->plan({{"run.schedule", "static"}});
  plan.add_shares();
  EXPECT_THAT(plan.plan().shares, SizeIs(4));
  EXPECT_EQ(plan.plan().shares[3].who, "rank 3");
  EXPECT_THAT(plan.plan().notes, SizeIs(0));
}

TEST_F(ModelPlanTest, APartOfTheRunIsPartOfTheTime) {
  ModelPlan plan = this->plan({{"run.worker_id", "1"}, {"run.total_workers", "4"}});
  plan.add_shares();
  plan.add_time("work", 50.0, "a guess");  // for all 100 samples; this part has chunks 4 to 6 of 13

  EXPECT_DOUBLE_EQ(plan.plan().times.front().seconds, 12.0);
  EXPECT_THAT(plan.plan().notes, Contains("this run does part 1 of 4: 24 of 100 prompts"));
}

TEST_F(ModelPlanTest, SealingGoesByWhatIsWritten) {
  ModelPlan plan = this->plan();
  plan.add_seal_time();
  EXPECT_DOUBLE_EQ(plan.plan().times.front().seconds, 1.0);  // 1 s for 100 MB at 100 MB/s
}

TEST_F(ModelPlanTest, MemoryIsThatOfTheFullestRank) {
  ModelPlan plan = this->plan();
  plan.find_batch(false);
  plan.add_memory();

  const ModelPlan::Work expected = work();
  const auto shards = lm::shards_of(expected.model, {}, 1);
  const auto use = lm::memory_of(expected.model, shards.front(), plan.demand(), 1);
  const auto& memory = plan.plan().memory;
  ASSERT_THAT(memory, SizeIs(6));
  EXPECT_EQ(memory[0].bytes, static_cast<std::uint64_t>(use.weights));
  EXPECT_EQ(memory[1].bytes, static_cast<std::uint64_t>(use.cache));
  EXPECT_EQ(memory[2].bytes, static_cast<std::uint64_t>(use.activations));
  EXPECT_EQ(memory[4].what, "prompts");
  EXPECT_EQ(memory[4].bytes, 5000U);
  EXPECT_EQ(memory[5].bytes, program_bytes(machine_));
  EXPECT_THAT(plan.plan().notes,
              ElementsAre("smallest group and largest batch that fit: devices.gpus_per_model=1 "
                          "work.batch_size=16"));
}

TEST_F(ModelPlanTest, RanksOfAGroupAreNotes) {
  ModelPlan plan = this->plan({{"devices.gpus_per_model", "2"}});
  plan.find_batch(false);
  plan.add_memory();
  EXPECT_THAT(plan.plan().notes, Contains(StartsWith("rank 1 of a group of 2: ")));
}

TEST_F(ModelPlanTest, AnAutomaticBatchIsWhatTheMemoryHasRoomFor) {
  ModelPlan plan = this->plan();
  plan.find_batch(true);
  EXPECT_EQ(plan.demand().batch_size, 16);
  lm::MemoryDemand four = plan.demand();
  four.batch_size = 4;
  const auto use = lm::memory_of(work().model, lm::shards_of(work().model, {}, 1)[0], four, 1);
  machine_.host_bytes =
      4 * (program_bytes(machine_) + work().other_bytes + static_cast<std::uint64_t>(use.total()));
  ModelPlan tight = this->plan();
  tight.find_batch(true);
  EXPECT_EQ(tight.demand().batch_size, 4);
  EXPECT_THAT(tight.plan().notes, Contains(HasSubstr("work.batch_size=auto: ")));
}

TEST_F(ModelPlanTest, WithoutRoomForOneTheLimitHasNothingToType) {
  machine_.host_bytes = 4 * ((std::uint64_t{40} << 20));
  machine_.disk_bytes = 50'000'000;
  ModelPlan plan = this->plan();
  plan.find_batch(false);
  plan.add_memory();
  plan.add_limits();

  EXPECT_THAT(plan.plan().notes,
              ElementsAre("no group of these ranks has room for the model and one completion"));
  ASSERT_THAT(plan.plan().limits, SizeIs(2));
  EXPECT_GT(plan.plan().limits[0].used, 1.0);
  EXPECT_EQ(plan.plan().limits[0].key, "work.batch_size");
  EXPECT_EQ(plan.plan().limits[0].fits, "");
  EXPECT_EQ(plan.plan().limits[1].used, 2.0);
}

TEST_F(ModelPlanTest, RatesAreThoseOfTheDevice) {
  EXPECT_STREQ(plan().rates().on, "one core");
  machine_.device = DeviceKind::cuda;
  EXPECT_STREQ(plan().rates().on, "one GPU");
  EXPECT_EQ(plan().demand().device, DeviceKind::cuda);
}

TEST(NumParametersTest, AreThoseOfTheWeights) {
  const lm::LmConfig model = lm::read_lm_config(testing_support::lm_goldens() / "llama");
  // A layer has q and o of 32 x 32, k and v of 16 x 32, three MLP matrices of 40 x 32, and two
  // norms.
  const std::int64_t layer = 2 * 32 * 32 + 2 * 16 * 32 + 3 * 40 * 32 + 2 * 32;
  EXPECT_EQ(num_parameters(model), 2 * 67 * 32 + 2 * layer + 32);
}

}  // namespace
}  // namespace mgpu::run
