// Tests how a pipeline assigns layers to ranks.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/lm/parallel/shard_plan.hpp>

namespace mgpu::lm {
namespace {

using Numbers = std::vector<std::int64_t>;  // one per rank

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int64_t kLikeALayer =
    642;  // an embedding of this many tokens is as large as a layer

LmConfig llama_of(std::size_t layers, std::int64_t vocab) {
  LmConfig config;
  config.family = "llama";
  config.vocab = vocab;
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.heads = config.kv_heads = 4;
  config.head_dim = 16;
  config.max_positions = 64;
  config.layers.resize(layers);
  config.rope.kind = RopeKind::standard;
  return config;
}

/// Returns how many layers each rank gets, and checks that they are in order.
Numbers counts_of(const LmConfig& config, LayerMap::Kind kind, const Numbers& free_bytes) {
  const std::vector<int> ranks = place_layers(config, {kind, {}}, free_bytes);
  EXPECT_EQ(ranks.size(), config.layers.size());
  EXPECT_TRUE(std::is_sorted(ranks.begin(), ranks.end()));
  Numbers counts;
  for (std::size_t r = 0; r < free_bytes.size(); ++r)
    counts.push_back(std::count(ranks.begin(), ranks.end(), static_cast<int>(r)));
  return counts;
}

Numbers counts_by_memory(const LmConfig& config, const Numbers& free_bytes) {
  return counts_of(config, LayerMap::Kind::by_memory, free_bytes);
}

TEST(ShardPlanTest, LayersGoByFreeMemory) {
  const LmConfig config = llama_of(12, 16);

  EXPECT_EQ(counts_by_memory(config, {kGiB, 2 * kGiB, 3 * kGiB}), (Numbers{2, 4, 6}));
  EXPECT_EQ(counts_by_memory(config, {3 * kGiB, 2 * kGiB, kGiB}), (Numbers{6, 4, 2}));
  EXPECT_EQ(counts_by_memory(config, {2 * kGiB, kGiB, 3 * kGiB}), (Numbers{4, 2, 6}));
}

TEST(ShardPlanTest, ARankWithoutFreeMemoryHasOneLayer) {
  const LmConfig config = llama_of(10, 16);

  EXPECT_EQ(counts_by_memory(config, {0, kGiB, 0}), (Numbers{1, 8, 1}));
  EXPECT_EQ(counts_by_memory(config, {kGiB, 0, 0}), (Numbers{8, 1, 1}));
  EXPECT_EQ(counts_by_memory(llama_of(21, 16), {0, kGiB, kGiB}), (Numbers{1, 10, 10}));
  EXPECT_EQ(counts_by_memory(config, {kGiB, 1 << 20, kGiB, kGiB}), (Numbers{3, 1, 3, 3}));
}

TEST(ShardPlanTest, EqualMemoryGivesTheBalancedMap) {
  const Numbers equal(4, 7 * kGiB);
  for (const std::int64_t each : {1, 2, 3, 10}) {
    const LmConfig config = llama_of(static_cast<std::size_t>(4 * each), 16);
    EXPECT_EQ(counts_by_memory(config, equal), Numbers(4, each));
    EXPECT_EQ(counts_of(config, LayerMap::Kind::balanced, equal), Numbers(4, each));
  }
}

TEST(ShardPlanTest, TheBalancedMapLooksAtNoMemory) {
  const LmConfig config = llama_of(12, 16);

  EXPECT_EQ(counts_of(config, LayerMap::Kind::balanced, {kGiB, 9 * kGiB, kGiB}),
            (Numbers{4, 4, 4}));
}

TEST(ShardPlanTest, EmbeddingAndHeadTakeTheRoomOfLayers) {
  const LmConfig config = llama_of(8, 2 * kLikeALayer);
  const WeightBytes bytes = weight_bytes(config);
  ASSERT_EQ(bytes.embedding, 2 * bytes.layer);
  ASSERT_EQ(bytes.head, 2 * bytes.layer);

  EXPECT_EQ(counts_by_memory(config, {kGiB, kGiB, kGiB}), (Numbers{2, 4, 2}));
}

TEST(ShardPlanTest, RanksBesideTheFullestAreAboutEquallyFull) {
  const LmConfig big_ends = llama_of(16, 4 * kLikeALayer);  // the last rank's load is 5 layers

  EXPECT_EQ(counts_of(big_ends, LayerMap::Kind::balanced, Numbers(8, kGiB)),
            (Numbers{3, 2, 2, 2, 2, 2, 2, 1}));
  EXPECT_EQ(counts_by_memory(llama_of(20, 16), {kGiB / 8, kGiB, kGiB}), (Numbers{1, 10, 9}));
}

// Only one assignment of 9 layers fits; all others exceed the memory of some rank.
TEST(ShardPlanTest, LayersGoWhereTheyFit) {
  const LmConfig config = llama_of(9, kLikeALayer / 2);
  const WeightBytes bytes = weight_bytes(config);
  for (std::int64_t first = 1; first <= 7; ++first) {
    for (std::int64_t second = 1; second <= 8 - first; ++second) {
      const std::int64_t third = 9 - first - second;
      const Numbers free_bytes{first * bytes.layer + bytes.embedding, second * bytes.layer,
                               third * bytes.layer + bytes.head};
      EXPECT_EQ(counts_by_memory(config, free_bytes), (Numbers{first, second, third}));
    }
  }
}

}  // namespace
}  // namespace mgpu::lm
