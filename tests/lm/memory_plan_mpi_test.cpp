// Compares the plan's memory of each rank of a group with the measured memory.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

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

const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

GenerationConfig config_of(const MemoryDemand& demand) {
  GenerationConfig config;
  config.max_new_tokens = 3;
  config.batch_size = demand.batch_size;
  config.prefill_tokens = demand.prefill_tokens;
  config.scores_prompts = true;
  return config;
}

/// Opens the model and generates on all ranks. Returns by how much the memory of this rank grew at
/// most. Ranks: collective.
std::int64_t measured_peak(const fs::path& path, Split split, const MemoryDemand& demand) {
  const std::vector<std::int64_t> ids(static_cast<std::size_t>(demand.longest - 2), 7);
  std::vector<Prompt> prompts;
  for (std::uint64_t p = 0; p < static_cast<std::uint64_t>(demand.batch_size); ++p)
    prompts.push_back({p, ids, 1});
  const cluster::Topology topology(world(), world().size());
  ModelGroup::Options options;
  options.plan.split = split;
  options.load.matrices = demand.matrices;
  options.communicator.timeout_s = 60.0;
  ::malloc_trim(0);
  world().barrier();
  const std::int64_t before = anonymous_bytes();
  PeakWatch watch;
  {
    const ModelGroup group = ModelGroup::open(path, topology, options);
    Generator(group.model(), config_of(demand)).run(prompts);
  }
  return watch.end() - before;
}

void check(const fs::path& folder, Split split, MatrixType matrices) {
  const MemoryDemand demand{
      .batch_size = 8, .longest = 302, .prefill_tokens = 512, .matrices = matrices};
  const LmConfig config = read_lm_config(folder);
  GroupPlan plan;
  plan.split = split;
  const std::vector<Shard> shards = shards_of(config, plan, world().size());

  const auto measured = static_cast<double>(measured_peak(folder, split, demand));

  const Shard& shard = shards[static_cast<std::size_t>(world().rank())];
  const MemoryUse use = memory_of(config, shard, demand, world().size());
  EXPECT_NEAR(static_cast<double>(use.total()), measured, 0.1 * measured)
      << use.weights << " " << use.cache << " " << use.activations << " " << use.buffers;
  testing_support::print_measured("share that the plan of a rank misses",
                                  std::abs(static_cast<double>(use.total()) / measured - 1.0), 0.1);
}

class MemoryPlanOfRanksTest : public testing::Test {
protected:
  /// Makes the model in another process. Uses all kinds of models once, because memory that
  /// libraries allocate at their first use does not belong to a model. Makes glibc return freed
  /// memory. Otherwise it keeps up to 64 MiB, which is little for a real model, but not for this
  /// one.
  static void SetUpTestSuite() {
    if (testing_support::kKeepsFreedMemory) return;
    made_.emplace();
    if (world().rank() == 0)
      make_elsewhere(
          made_->path(),
          {.layers = 8, .width = 512, .inner = 1536, .heads = 8, .kv_heads = 8, .vocab = 6000});
    folder_ = world().broadcast(made_->path().string(), 0);
    ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
    const MadeFolder tiny(world(), {.layers = 8, .width = 64, .heads = 8, .kv_heads = 8});
    for (const Split split : {Split::pipeline, Split::tensor})
      for (const MatrixType matrices : {MatrixType::f32, MatrixType::bf16})
        measured_peak(tiny.path(), split, {.longest = 20, .matrices = matrices});
  }

  static void TearDownTestSuite() {
    world().barrier();
    made_.reset();
  }

  void SetUp() override {
    if (testing_support::kKeepsFreedMemory) GTEST_SKIP() << "AddressSanitizer keeps freed memory";
  }

  static inline std::optional<testing_support::TemporaryFolder> made_;
  static inline fs::path folder_;  // that of rank 0
};

TEST_F(MemoryPlanOfRanksTest, LayersByRanks) {
  check(folder_, Split::pipeline, MatrixType::f32);
}

TEST_F(MemoryPlanOfRanksTest, PartsOfLayersByRanks) {
  check(folder_, Split::tensor, MatrixType::f32);
}

TEST_F(MemoryPlanOfRanksTest, LayersOf16BitsByRanks) {
  check(folder_, Split::pipeline, MatrixType::bf16);
}

TEST_F(MemoryPlanOfRanksTest, PartsOfLayersOf16BitsByRanks) {
  check(folder_, Split::tensor, MatrixType::bf16);
}

}  // namespace
}  // namespace mgpu::lm
