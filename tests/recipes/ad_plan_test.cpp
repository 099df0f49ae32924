#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/jobs/job.hpp>

#include "recipes/ad/settings.hpp"

namespace mgpu::recipes {
namespace {

Config config_of(std::vector<Override> overrides) {
  app::Options options;
  options.overrides = std::move(overrides);
  options.overrides.push_back({"job", "train"});
  return app::load_config(options, app::program_keys(), FileProvider::alone());
}

report::Plan plan_of(const Config& config, const run::PlanMachine& machine) {
  return jobs::read_job(config)->plan(machine);
}

std::uint64_t disk_bytes_of(const Config& config) {
  return jobs::read_job(config)->disk_bytes();
}

std::uint64_t memory(const report::Plan& plan, const std::string& what) {
  for (const report::Plan::Memory& part : plan.memory)
    if (part.what == what) return part.bytes;
  ADD_FAILURE() << "no " << what;
  return 0;
}

double seconds(const report::Plan& plan, const std::string& what) {
  for (const report::Plan::Time& time : plan.times)
    if (time.what == what) return time.seconds;
  ADD_FAILURE() << "no " << what;
  return 0.0;
}

run::PlanMachine cpus(int ranks) {
  run::PlanMachine machine;
  machine.ranks = ranks;
  machine.ranks_per_node = ranks;
  machine.host_bytes = std::uint64_t{16} << 30;
  machine.disk_bytes = std::uint64_t{100} << 30;
  return machine;
}

TEST(TrainPlanTest, CountsTheModelThatTheJobBuilds) {
  const Config config = config_of({});
  const AdSettings settings = read_ad_settings(config);
  const ad::AdTransformer model(settings.model, Device{}, 0);
  const auto bytes = static_cast<std::uint64_t>(model.parameters().weights().nbytes());

  const report::Plan plan = plan_of(config, cpus(1));

  EXPECT_EQ(memory(plan, "weights"), bytes);
  EXPECT_EQ(memory(plan, "gradients"), bytes);
  EXPECT_EQ(memory(plan, "optimizer"), 2 * bytes);
}

TEST(TrainPlanTest, AModelThatFitsNowhereIsCountedAndDoesNotFit) {
  const Config config = config_of({{"model.tf_n_embd", "8192"},
                                   {"model.tf_n_head", "128"},
                                   {"model.tf_n_layer", "1024"},
                                   {"train.global_batch_size", "10000000"},
                                   {"checkpoint.keep", "1000000"}});

  const report::Plan plan = plan_of(config, cpus(1));

  EXPECT_GT(memory(plan, "weights"), std::uint64_t{1} << 41);
  EXPECT_GT(memory(plan, "activations"), std::uint64_t{1} << 41);
  for (const char* what : {"memory of a node", "free disk"}) {
    const auto limit = std::find_if(plan.limits.begin(), plan.limits.end(),
                                    [&](const auto& other) { return other.what == what; });
    ASSERT_NE(limit, plan.limits.end());
    EXPECT_GT(limit->used, 100.0) << what << ": " << limit->detail;
  }
}

// The model has 10^12 weights and more, so a plan that built it would run out of memory.
TEST(TrainPlanTest, AModelThatDoesNotFitIsToldFromItsSizes) {
  const Config config = config_of({{"model.tf_n_embd", "65536"},
                                   {"model.tf_n_layer", "64"},
                                   {"model.attn_impl", "eager"},
                                   {"train.lanes", "1"}});

  const report::Plan plan = plan_of(config, cpus(1));

  ASSERT_FALSE(plan.limits.empty());
  EXPECT_EQ(plan.limits.front().what, "memory of a node");
  EXPECT_GT(plan.limits.front().used, 1000.0);
  EXPECT_TRUE(plan.limits.front().fits.empty());
  // Each block has 12 D^2 + 13 D weights. The other weights are vocabularies, positions, norm and
  // head.
  EXPECT_GT(memory(plan, "weights"), std::uint64_t{4} * 64 * 8 * 65536 * 65536);
}

TEST(TrainPlanTest, MoreRanksTakeLessTimeAndLessActivationMemory) {
  const Config config = config_of({});

  const report::Plan one = plan_of(config, cpus(1));
  const report::Plan four = plan_of(config, cpus(4));

  EXPECT_NEAR(seconds(one, "training") / seconds(four, "training"), 4.0, 1e-9);
  EXPECT_NEAR(seconds(one, "histories") / seconds(four, "histories"), 4.0, 1e-9);
  EXPECT_LE(memory(four, "activations"), memory(one, "activations"));
}

TEST(TrainPlanTest, TimesGrowWithTheWork) {
  const report::Plan plan = plan_of(config_of({}), cpus(1));
  const report::Plan longer = plan_of(config_of({{"train.max_steps", "100000"}}), cpus(1));
  const report::Plan deeper = plan_of(config_of({{"model.tf_n_layer", "8"}}), cpus(1));
  const report::Plan played =
      plan_of(config_of({{"train.eval_every", "0"}, {"evaluate.controls", "false"}}), cpus(1));

  EXPECT_NEAR(seconds(longer, "training") / seconds(plan, "training"), 2.0, 1e-9);
  EXPECT_NEAR(seconds(deeper, "training") / seconds(plan, "training"), 2.0, 1e-9);
  EXPECT_NEAR(seconds(deeper, "evaluation") / seconds(plan, "evaluation"), 2.0, 1e-9);
  EXPECT_LT(seconds(played, "evaluation"), seconds(plan, "evaluation"));
}

TEST(TrainPlanTest, RanksBeyondTheCoresShareThem) {
  const Config config = config_of({});
  run::PlanMachine machine = cpus(8);
  const double alone = seconds(plan_of(config, machine), "training");

  machine.cores = 16;
  EXPECT_EQ(seconds(plan_of(config, machine), "training"), alone);
  machine.cores = 2;
  EXPECT_NEAR(seconds(plan_of(config, machine), "training"), 4.0 * alone, 1e-6 * alone);
  machine.ranks_per_node = 4;  // on two nodes
  EXPECT_NEAR(seconds(plan_of(config, machine), "training"), 2.0 * alone, 1e-6 * alone);
}

TEST(TrainPlanTest, RoundingTo16BitsTakesTimeAndMemoryOnTheCpuOnly) {
  const Config exact = config_of({{"train.mixed_precision", "no"}});
  const Config rounded = config_of({{"train.mixed_precision", "bf16"}});
  run::PlanMachine gpu = cpus(1);
  gpu.device = DeviceKind::cuda;
  gpu.gpu_bytes = std::uint64_t{16} << 30;

  const report::Plan cpu_exact = plan_of(exact, cpus(1));
  const report::Plan cpu_rounded = plan_of(rounded, cpus(1));

  EXPECT_GT(seconds(cpu_rounded, "training"), seconds(cpu_exact, "training"));
  EXPECT_GT(memory(cpu_rounded, "activations"), memory(cpu_exact, "activations"));
  EXPECT_EQ(memory(plan_of(rounded, gpu), "activations"),
            memory(plan_of(exact, gpu), "activations"));
}

TEST(TrainPlanTest, TrafficIsThatOfARingOrOfTheTreeOfLanes) {
  const report::Plan ring = plan_of(config_of({}), cpus(4));
  const report::Plan tree = plan_of(config_of({{"run.deterministic", "layout"}}), cpus(4));

  const auto weights = memory(ring, "weights");
  ASSERT_EQ(ring.traffic.size(), 1U);
  ASSERT_EQ(tree.traffic.size(), 1U);
  EXPECT_EQ(ring.traffic.front().bytes_per_step, weights * 3 / 2);
  EXPECT_EQ(tree.traffic.front().bytes_per_step, weights * 2);
  EXPECT_TRUE(plan_of(config_of({}), cpus(1)).traffic.empty());
}

TEST(TrainPlanTest, EagerAttentionKeepsItsMatrices) {
  const Config flash = config_of({{"model.attn_impl", "auto"}});
  const Config eager = config_of({{"model.attn_impl", "eager"}});

  EXPECT_GT(memory(plan_of(eager, cpus(1)), "activations"),
            memory(plan_of(flash, cpus(1)), "activations"));
}

TEST(TrainPlanTest, DiskGrowsWithTheCheckpointsThatAreKept) {
  const std::uint64_t three = disk_bytes_of(config_of({{"checkpoint.keep", "3"}}));
  const std::uint64_t four = disk_bytes_of(config_of({{"checkpoint.keep", "4"}}));
  const std::uint64_t weights = memory(plan_of(config_of({}), cpus(1)), "weights");

  EXPECT_GE(four - three, 3 * weights);
}

TEST(TrainPlanTest, AGpuHoldsNoHistories) {
  run::PlanMachine machine = cpus(2);
  machine.device = DeviceKind::cuda;
  machine.gpu_name = "A card";
  machine.gpu_bytes = std::uint64_t{40} << 30;

  const report::Plan plan = plan_of(config_of({}), machine);

  EXPECT_EQ(plan.card_bytes, machine.gpu_bytes);
  EXPECT_GT(memory(plan, "CUDA context"), 0U);
  for (const report::Plan::Memory& part : plan.memory)
    EXPECT_NE(part.what, "histories");
  std::map<std::string, double> limits;
  for (const report::Plan::Limit& limit : plan.limits)
    limits[limit.what] = limit.used;
  EXPECT_GT(limits.at("GPU memory"), 0.0);
  EXPECT_GT(limits.at("memory of a node"), 0.0);
}

TEST(TrainPlanTest, APassThatLeavesTheMarginIsNamedWhereTheGivenOneDoesNot) {
  run::PlanMachine machine = cpus(1);
  machine.device = DeviceKind::cuda;
  machine.gpu_bytes = std::uint64_t{1} << 30;
  const auto gpu_limit = [&](const char* micro_batch, const char* margin) {
    const Config config = config_of({{"train.micro_batch_size", micro_batch},
                                     {"train.lanes", "1"},
                                     {"devices.memory_margin", margin}});
    return plan_of(config, machine).limits.front();
  };

  const report::Plan::Limit large = gpu_limit("512", "0.08");
  ASSERT_TRUE(large.fits.starts_with("train.micro_batch_size=")) << large.fits;
  const auto fitting = large.fits.substr(large.fits.find('=') + 1);
  const report::Plan::Limit small = gpu_limit(fitting.c_str(), "0.08");

  ASSERT_EQ(large.what, "GPU memory");
  EXPECT_GT(large.used, 1.0);
  EXPECT_LE(small.used, 0.92);
  EXPECT_TRUE(small.fits.empty());
  EXPECT_GT(gpu_limit(std::to_string(2 * std::stoi(fitting)).c_str(), "0.08").used, 0.92);
}

}  // namespace
}  // namespace mgpu::recipes
