#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

// How a model is shared out to the R ranks of a group. All of it is computed from config.json
// alone, and equal on all ranks.
namespace mgpu::lm {

/// What the ranks of a group divide among them.
enum class Split : std::uint8_t {
  pipeline,  // layers: the bytes of the results are those of one rank
  tensor,    // heads, MLP columns and vocabulary: every rank works on every token
};
/// As the key model.parallel has it.
const char* name_of(Split split);

/// Where layers go.
struct LayerMap {
  enum class Kind : std::uint8_t {
    balanced,  // equal work on all ranks
    by_memory,
    manual,
  };
  Kind kind = Kind::balanced;
  std::vector<std::int64_t> ranks;  // of each layer; manual only
};

/// Bytes that weights take as float32: what a placement goes by.
struct WeightBytes {
  std::int64_t layer = 0;  // of one layer
  std::int64_t embedding = 0;
  std::int64_t head = 0;  // also where it is tied: each end has its own
};
WeightBytes weight_bytes(const LmConfig& config);

/// Rank of each layer. Ranks are in order and none is without a layer.
///
/// Shapes: free_bytes [R], of each rank's device; used by LayerMap::Kind::by_memory only
/// Errors: Failure E126 (exit 78) when there are fewer layers than ranks, or a manual map does
///         not name them so.
std::vector<int> place_layers(const LmConfig& config, const LayerMap& map,
                              std::span<const std::int64_t> free_bytes);

/// The shards of R ranks with these layers.
std::vector<Shard> pipeline_shards(const LmConfig& config, std::span<const int> layer_ranks);

/// Key heads go to ranks as evenly as they can; where they are fewer than ranks, several ranks
/// hold one and divide its queries. Likewise columns and vocabulary.
///
/// Errors: Failure E126 (exit 78) when a rank would be without a head or a column, or key heads
///         do not divide the ranks that are more than they.
std::vector<Shard> tensor_shards(const LmConfig& config, int ranks);

/// The part of all weights that a shard has: views of what is given.
///
/// Shapes: weights as bind_weights() gives them, not packed
LmWeights shard_weights(const LmConfig& config, const LmWeights& weights, const Shard& shard);

/// All tensors that are there.
std::vector<at::Tensor*> tensors_of(LmWeights& weights);
std::vector<at::Tensor*> tensors_of(LayerWeights& weights);

}  // namespace mgpu::lm
