#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/parallel/shard.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

// How a model is split over the R ranks of a group. The functions depend only on config.json and
// their other arguments, so all ranks compute the same result.
namespace mgpu::lm {

/// How the ranks of a group split a model.
enum class Split : std::uint8_t {
  pipeline,  // splits by layers; on the CPU, results have the same bits as on one rank
  tensor,    // splits by heads, MLP columns and vocabulary (tensor parallelism)
};
/// Returns the name of `split` as a value of the key model.parallel.
const char* name_of(Split split);

/// How layers are assigned to pipeline stages.
struct LayerMap {
  enum class Kind : std::uint8_t {
    balanced,   // work as equal as possible on all ranks
    by_memory,  // in proportion to the free memory of the ranks
    manual,     // LayerMap::ranks has the rank of each layer
  };
  Kind kind = Kind::balanced;
  std::vector<std::int64_t> ranks;  // rank of each layer; for Kind::manual only
};

/// Sizes of parts of a model as float32, in bytes. place_layers() uses them as costs.
struct WeightBytes {
  std::int64_t layer = 0;      // size of one layer
  std::int64_t embedding = 0;  // size of the embedding and of learned positions
  std::int64_t head = 0;       // counted even if tied, because the last stage holds a copy
};
WeightBytes weight_bytes(const LmConfig& config);

/// Returns the rank of each layer, for a pipeline. The ranks are in ascending order, and every rank
/// has at least one layer.
///
/// Shapes: free_bytes [R], the free memory of each rank's device; the values are used only with
///         LayerMap::Kind::by_memory
/// Errors: Failure E126 (exit 78) when there are fewer layers than ranks, or when a manual map is
///         wrong: not one rank per layer, not ascending, or a rank without layers
std::vector<int> place_layers(const LmConfig& config, const LayerMap& map,
                              std::span<const std::int64_t> free_bytes);

/// Returns the shard of each of the R ranks of a pipeline. `layer_ranks` is the result of
/// place_layers().
std::vector<Shard> pipeline_shards(const LmConfig& config, std::span<const int> layer_ranks);

/// Returns the shard of each rank of a tensor-parallel group. Key-value heads, MLP columns and
/// vocabulary are split as evenly as possible. If there are fewer key-value heads than ranks,
/// several ranks hold the same key-value head and split its query heads.
///
/// Errors: Failure E126 (exit 78) in these cases:
///         - A rank would have no head, no MLP column or no token.
///         - There are more ranks than key-value heads, and the number of ranks is not a multiple
///           of the number of key-value heads.
///         - The ranks together could have more vocabulary blocks than kDrawBlocks, the maximum for
///           which there are random numbers (draw_bits.hpp).
std::vector<Shard> tensor_shards(const LmConfig& config, int ranks);

/// Returns the weights of a shard, as views of the complete model's tensors.
///
/// Shapes: weights as bind_weights() returns them, not packed for the CPU kernels
LmWeights shard_weights(const LmConfig& config, const LmWeights& weights, const Shard& shard);

/// Returns pointers to all defined tensors of a model or of one layer, except matrices that are
/// packed for the CPU kernels (Linear::panels).
std::vector<at::Tensor*> tensors_of(LmWeights& weights);
std::vector<at::Tensor*> tensors_of(LayerWeights& weights);

}  // namespace mgpu::lm
