#include <algorithm>
#include <span>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/packed_product.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>

#include "lm/forward/batch_shares.hpp"
#include "lm/weights/shapes_only.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kFloat = 4;

std::int64_t up_to(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Returns how many padding elements a matrix gets when it is packed for the CPU kernels. A packed
/// matrix consists of panels of panel_width() outputs, and the last panel is padded.
std::int64_t padding_of(const Linear& linear) {
  if (!linear.weight.defined()) return 0;
  const std::int64_t outputs = linear.weight.size(0);
  const auto width = static_cast<std::int64_t>(kernels::cpu::panel_width());
  return (up_to(outputs, width) - outputs) * linear.weight.size(1);
}

std::int64_t weights_of(const LmConfig& config, const Shard& shard, const MemoryDemand& demand) {
  ShapesOnly shapes;
  LmWeights weights = shard_weights(config, bind_weights(config, shapes), shard);
  const auto count_of = [](const std::vector<at::Tensor*>& tensors) {
    std::int64_t count = 0;
    for (const at::Tensor* tensor : tensors)
      count += tensor->numel();
    return count;
  };
  std::int64_t matrices = count_of(matrices_of(weights));
  const std::int64_t others = count_of(tensors_of(weights)) - matrices;
  const bool shares_head = config.tied_head && shard.has_embedding && shard.has_head;
  if (demand.device == DeviceKind::cuda) {
    // On a GPU, a head that is tied to the embedding is the same tensor, which counts only once.
    if (shares_head) matrices -= weights.head.weight.numel();
  } else {
    matrices += padding_of(weights.head);
    for (LayerWeights& layer : weights.layers)
      for (const Linear* linear : linears_of(layer))
        matrices += padding_of(*linear);
  }
  return others * kFloat + matrices * (demand.matrices == MatrixType::bf16 ? 2 : kFloat);
}

bool is_pipeline(const LmConfig& config, const Shard& shard) {
  return shard.layers.size() < static_cast<std::int64_t>(config.layers.size());
}

std::int64_t batches_of(const LmConfig& config, const Shard& shard, int ranks) {
  return batches_in_turn(is_pipeline(config, shard) ? Split::pipeline : Split::tensor, ranks);
}

std::int64_t prefill_of(const MemoryDemand& demand) {
  return demand.prefill_tokens == 0 ? pass_sizes(demand.device).prefill_tokens
                                    : demand.prefill_tokens;
}

/// Returns the maximum number of tokens per pass.
std::int64_t rows_of(const MemoryDemand& demand, std::int64_t batches) {
  return share_of_batch(demand.batch_size, batches) + share_of_prefill(prefill_of(demand), batches);
}

/// Returns the number of tokens for which the KV cache needs room. `batches` is the result of
/// batches_of(). A tree is a set of sequences that share cache pages (MemoryDemand::tree_paths).
/// Trees are not divided among the batches, so the cache contains all trees.
std::int64_t cached_tokens(const MemoryDemand& demand, std::int64_t batches) {
  if (demand.tree_paths > 0)
    return std::max<std::int64_t>(1, demand.batch_size / demand.tree_paths) * demand.tree_pages *
           demand.page_tokens;
  std::int64_t share = share_of_batch(demand.batch_size, batches);
  if (demand.is_scoring)
    share = scored_sequences(share, share_of_prefill(prefill_of(demand), batches), demand.longest);
  return cached_sequences(share, batches, demand.has_samples) *
         up_to(demand.longest, demand.page_tokens);
}

std::int64_t cache_of(const LmConfig& held, const MemoryDemand& demand, std::int64_t batches) {
  return 2 * static_cast<std::int64_t>(held.layers.size()) * cached_tokens(demand, batches) *
         held.kv_heads * held.head_dim * bytes_of(demand.cache_type);
}

/// Returns the peak memory of a pass of `rows` tokens, in bytes. The peak is the largest of the
/// sizes for attention, MLP and head. Each of these sizes includes the residual stream and a
/// normalized copy of the stream.
std::int64_t activations_of(const LmConfig& held, const Shard& shard, const MemoryDemand& demand,
                            std::int64_t rows) {
  const PassSizes sizes = pass_sizes(demand.device);
  const std::int64_t queries = held.heads * held.head_dim;
  const std::int64_t keys = held.kv_heads * held.head_dim;
  const std::int64_t attention = rows * (2 * held.hidden_size + 2 * queries + 3 * keys);
  // An expert has separate copies of its tokens' input and output rows.
  const std::int64_t streams = held.experts.count > 0 ? 4 : 2;
  const std::int64_t mlp = rows * (streams * held.hidden_size + 3 * held.intermediate_size);
  const std::int64_t piece =
      std::min(rows, sizes.head_rows) * std::min(shard.vocab.size(), sizes.vocabulary_block);
  const std::int64_t head =
      shard.has_head ? 2 * rows * held.hidden_size + demand.logit_copies * piece : 0;
  return kFloat * std::max({attention, mlp, head});
}

std::int64_t buffers_of(const LmConfig& config, const Shard& shard, std::int64_t rows) {
  const std::int64_t stream = rows * config.hidden_size * kFloat;
  // With tensor parallelism, a rank has two buffers. One is for the values of all-reduces, and the
  // other for the zeros that the rank contributes after a failure.
  if (shard.is_tensor_parallel) return 2 * stream;
  if (!is_pipeline(config, shard) || shard.has_head) return 0;
  return static_cast<std::int64_t>(kPassesInSender) * stream;
}

/// Returns the memory use except for weights.
MemoryUse use_without_weights(const LmConfig& config, const Shard& shard,
                              const MemoryDemand& demand, int ranks) {
  const LmConfig held = held_by(shard, config);
  const std::int64_t batches = batches_of(config, shard, ranks);
  const std::int64_t rows = rows_of(demand, batches);
  return {.cache = cache_of(held, demand, batches),
          .activations = activations_of(held, shard, demand, rows),
          .buffers = buffers_of(config, shard, rows),
          .others = demand.others ? demand.others(demand) : 0};
}

std::vector<MemoryUse> use_of(const LmConfig& config, std::span<const Shard> shards,
                              const MemoryDemand& demand) {
  std::vector<MemoryUse> use;
  for (const Shard& shard : shards)
    use.push_back(memory_of(config, shard, demand, static_cast<int>(shards.size())));
  return use;
}

}  // namespace

MemoryUse memory_of(const LmConfig& config, const Shard& shard, const MemoryDemand& demand,
                    int ranks) {
  MemoryUse use = use_without_weights(config, shard, demand, ranks);
  use.weights = weights_of(config, shard, demand);
  return use;
}

std::int64_t largest_batch(const LmConfig& config, const Shard& shard, MemoryDemand demand,
                           int ranks, std::int64_t bytes) {
  std::int64_t good = 0;
  std::int64_t bad = demand.batch_size + 1;
  while (bad - good > 1) {
    demand.batch_size = (good + bad) / 2;
    const bool fits = use_without_weights(config, shard, demand, ranks).total() <= bytes;
    (fits ? good : bad) = demand.batch_size;
  }
  return good;
}

std::int64_t largest_tree(const LmConfig& config, const Shard& shard, MemoryDemand demand,
                          int ranks, std::int64_t bytes) {
  const std::int64_t pages = up_to(demand.longest, demand.page_tokens) / demand.page_tokens;
  for (std::int64_t paths = demand.tree_paths - 1; paths > 0; --paths) {
    demand.batch_size = demand.tree_paths = paths;
    demand.tree_pages = (paths + 1) * pages;
    if (use_without_weights(config, shard, demand, ranks).total() <= bytes) return paths;
  }
  return 0;
}

std::vector<Shard> shards_of(const LmConfig& config, const GroupPlan& plan, int ranks) {
  if (ranks == 1) return {whole_model(config)};
  if (plan.split == Split::tensor) return tensor_shards(config, ranks);
  const std::vector<std::int64_t> equal(static_cast<std::size_t>(ranks), 1);
  return pipeline_shards(config, place_layers(config, plan.layers, equal));
}

bool can_be_split(const LmConfig& config, const GroupPlan& plan, int ranks) {
  try {
    shards_of(config, plan, ranks);
    return true;
  } catch (const Failure&) {
    return false;
  }
}

std::optional<MemoryFit> fit_memory(const LmConfig& config, const GroupPlan& plan,
                                    const MemoryDemand& demand, std::int64_t bytes_per_rank,
                                    int all_ranks, int fewest) {
  for (int ranks = fewest; ranks <= all_ranks; ++ranks) {
    if (all_ranks % ranks != 0) continue;
    if (!can_be_split(config, plan, ranks)) continue;
    const std::vector<Shard> shards = shards_of(config, plan, ranks);
    MemoryDemand fitting = demand;
    for (const Shard& shard : shards) {
      const std::int64_t bytes = bytes_per_rank - weights_of(config, shard, demand);
      fitting.batch_size = largest_batch(config, shard, fitting, ranks, bytes);
    }
    if (fitting.batch_size == 0) continue;
    return MemoryFit{ranks, fitting.batch_size, use_of(config, shards, fitting)};
  }
  return std::nullopt;
}

}  // namespace mgpu::lm
