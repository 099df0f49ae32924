// Compares the plan's memory with the measured memory of a run.
#include <cmath>

#include <malloc.h>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>

#include "made_folder.hpp"
#include "peak_watch.hpp"
#include "support/measured.hpp"
#include "support/sanitizers.hpp"

namespace mgpu::lm {
namespace {

LmConfig config_of(const MadeModel& model) {
  const testing_support::TemporaryFolder folder;
  make_folder(folder.path(), model);
  return read_lm_config(folder.path());
}

TEST(MemoryPlanTest, APeakOnTheCpuIsThatOfThePlan) {
  if (testing_support::kKeepsFreedMemory) GTEST_SKIP() << "AddressSanitizer keeps freed memory";
  const testing_support::TemporaryFolder folder;
  make_elsewhere(
      folder.path(),
      {.layers = 4, .width = 512, .inner = 1536, .heads = 8, .kv_heads = 8, .vocab = 6000});
  const MemoryDemand demand{.batch_size = 8, .longest = 302, .prefill_tokens = 1024};
  const std::vector<std::int64_t> ids(300, 7);
  std::vector<Prompt> prompts;
  for (std::uint64_t p = 0; p < 8; ++p)
    prompts.push_back({p, ids, 1});
  GenerationConfig config;
  config.max_new_tokens = 3;
  config.batch_size = demand.batch_size;
  config.prefill_tokens = demand.prefill_tokens;
  config.scores_prompts = true;
  const LmConfig model_config = read_lm_config(folder.path());
  // glibc keeps up to 64 MiB of freed memory, which is little for a real model, but not for this
  // one.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  const std::int64_t before = anonymous_bytes();

  PeakWatch watch;
  {
    const LanguageModel model = LanguageModel::open(folder.path());
    Generator(model, config).run(prompts);
  }
  const auto measured = static_cast<double>(watch.end() - before);

  const MemoryUse plan = memory_of(model_config, whole_model(model_config), demand, 1);
  EXPECT_NEAR(static_cast<double>(plan.total()), measured, 0.1 * measured)
      << plan.weights << " " << plan.cache << " " << plan.activations;
  testing_support::print_measured("share that the plan misses",
                                  std::abs(static_cast<double>(plan.total()) / measured - 1.0),
                                  0.1);
}

// A draw with a penalty and top p needs a third copy of the logits of a GPU's 4096 rows.
TEST(MemoryPlanTest, CopiesOfLogitsCount) {
  const LmConfig model = config_of({.layers = 1, .vocab = 30'000});
  const auto activations = [&](const SamplingConfig& sampling) {
    const MemoryDemand demand{.logit_copies = logit_copies(sampling), .device = DeviceKind::cuda};
    return memory_of(model, whole_model(model), demand, 1).activations;
  };
  const SamplingConfig cut{.is_greedy = false, .top_p = 0.9};
  SamplingConfig penalized = cut;
  penalized.repetition_penalty = 1.2;

  EXPECT_EQ(activations(cut), activations({}));
  EXPECT_EQ(activations(penalized) - activations(cut), std::int64_t{4} * 4096 * 30'000);
}

TEST(MemoryPlanTest, ShardsAddUpToTheModel) {
  const LmConfig config = config_of({.layers = 8, .width = 96, .inner = 192, .vocab = 480});
  const MemoryDemand demand{.device = DeviceKind::cuda};
  const MemoryUse whole = memory_of(config, whole_model(config), demand, 1);

  std::int64_t weights = 0;
  for (const Shard& shard : shards_of(config, {}, 4))
    weights += memory_of(config, shard, demand, 4).weights;

  EXPECT_EQ(weights, whole.weights);
}

TEST(MemoryPlanTest, MatricesOf16BitsTakeHalf) {
  const LmConfig config = config_of({.layers = 8, .width = 96, .inner = 192, .vocab = 480});
  const auto weights_of = [&](MatrixType type) {
    return memory_of(config, whole_model(config), {.matrices = type}, 1).weights;
  };
  const std::int64_t norms = 4 * (2 * 8 + 1) * 96;

  EXPECT_EQ(2 * (weights_of(MatrixType::bf16) - norms), weights_of(MatrixType::f32) - norms);
}

TEST(MemoryPlanTest, TheSmallestGroupAndTheLargestBatchAreFound) {
  const LmConfig config = config_of({.layers = 8, .width = 96, .inner = 192, .vocab = 480});
  const MemoryDemand demand{.batch_size = 64, .longest = 256};
  const MemoryUse whole = memory_of(config, whole_model(config), demand, 1);
  const GroupPlan plan;

  EXPECT_EQ(fit_memory(config, plan, demand, whole.total(), 8)->ranks, 1);
  EXPECT_EQ(fit_memory(config, plan, demand, whole.total(), 8)->batch_size, 64);
  const auto less = fit_memory(config, plan, demand, whole.total() * 3 / 4, 8);
  EXPECT_EQ(less->ranks, 1);
  EXPECT_LT(less->batch_size, 64);
  const auto tight = fit_memory(config, plan, demand, whole.weights, 8);
  EXPECT_GT(tight->ranks, 1);
  for (const MemoryUse& use : tight->use)
    EXPECT_LE(use.total(), whole.weights);
  EXPECT_FALSE(fit_memory(config, plan, demand, 1000, 8).has_value());
}

TEST(MemoryPlanTest, TheLargestTreeIsFound) {
  const LmConfig config = config_of({.layers = 8, .width = 96, .inner = 192, .vocab = 480});
  const Shard shard = whole_model(config);
  MemoryDemand demand{.batch_size = 8, .longest = 250, .tree_paths = 8, .tree_pages = 70};
  const auto largest = [&](std::int64_t bytes) {
    return largest_tree(config, shard, demand, 1, bytes);
  };
  // Three paths of 16 pages each, and a copy of one of them.
  const MemoryDemand three{.batch_size = 3, .longest = 250, .tree_paths = 3, .tree_pages = 64};
  const MemoryUse use = memory_of(config, shard, three, 1);
  const std::int64_t bytes = use.total() - use.weights;

  EXPECT_EQ(largest(bytes), 3);
  EXPECT_EQ(largest(bytes - 1), 2);
  EXPECT_EQ(largest(100 * bytes), 7);
  EXPECT_EQ(largest(1000), 0);
}

TEST(MemoryPlanTest, AGroupHasAtLeastTheFewestRanks) {
  const LmConfig config = config_of({.layers = 8, .width = 96, .inner = 192, .vocab = 480});
  const MemoryDemand demand{.batch_size = 64, .longest = 256};
  const std::int64_t enough = memory_of(config, whole_model(config), demand, 1).total();
  const auto ranks_of = [&](int all_ranks, int fewest) {
    const auto fit = fit_memory(config, {}, demand, enough, all_ranks, fewest);
    return fit ? fit->ranks : 0;
  };

  EXPECT_EQ(ranks_of(8, 1), 1);
  EXPECT_EQ(ranks_of(8, 2), 2);
  EXPECT_EQ(ranks_of(8, 3), 4);
  EXPECT_EQ(ranks_of(8, 9), 0);
  EXPECT_EQ(ranks_of(9, 4), 0) << "9 ranks for 8 layers";
}

}  // namespace
}  // namespace mgpu::lm
