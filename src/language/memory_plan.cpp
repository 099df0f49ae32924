#include <algorithm>
#include <span>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/packed_product.hpp>
#include <mgpu/language/memory_plan.hpp>

#include "folded_logits.hpp"

namespace mgpu::language {
namespace {

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kRowBlock = 256;  // rows that meet the head at a time

class ShapesOnly : public WeightSource {
public:
  at::Tensor take(const std::string& /*name*/, const std::vector<std::int64_t>& shape) override {
    return at::empty(shape, at::TensorOptions().device(at::kMeta));
  }
};

std::int64_t up_to(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// What packing adds to the matrices of linears on the CPU: whole panels.
std::int64_t padding_of(const Linear& linear) {
  if (!linear.weight.defined()) return 0;
  const std::int64_t outputs = linear.weight.size(0);
  const auto width = static_cast<std::int64_t>(kernels::kPanelWidth);
  return (up_to(outputs, width) - outputs) * linear.weight.size(1);
}

std::int64_t weights_of(const LmConfig& config, const Shard& shard, DeviceKind device) {
  ShapesOnly shapes;
  LmWeights weights = shard_weights(config, bind_weights(config, shapes), shard);
  std::int64_t count = 0;
  for (const at::Tensor* tensor : tensors_of(weights))
    count += tensor->numel();
  const bool shares_head = config.tied_head && shard.has_embedding && shard.has_head;
  if (device == DeviceKind::cuda) {
    // The head is the embedding itself.
    return kFloat * (shares_head ? count - weights.head.weight.numel() : count);
  }
  count += padding_of(weights.head);
  for (LayerWeights& layer : weights.layers)
    for (const Linear* linear : linears_of(layer))
      count += padding_of(*linear);
  return kFloat * count;
}

bool is_pipeline(const LmConfig& config, const Shard& shard) {
  return shard.layers.size() < static_cast<std::int64_t>(config.layers.size());
}

/// Batches that take turns, as the Generator has them.
std::int64_t batches_of(const LmConfig& config, const Shard& shard, int ranks) {
  return is_pipeline(config, shard) ? ranks + 1 : 1;
}

/// Tokens of one pass, at most.
std::int64_t rows_of(const MemoryDemand& demand, std::int64_t batches) {
  return (demand.batch_size + batches - 1) / batches +
         std::max<std::int64_t>(1, demand.prefill_tokens / batches);
}

std::int64_t cache_of(const LmConfig& held, const MemoryDemand& demand, std::int64_t batches) {
  const std::int64_t sequences =
      batches * ((demand.batch_size + batches - 1) / batches + (demand.has_samples ? 1 : 0));
  return 2 * static_cast<std::int64_t>(held.layers.size()) * sequences *
         up_to(demand.longest, demand.page_tokens) * held.kv_heads * held.head_dim * kFloat;
}

/// The residual stream, its norm, and the widest of attention, MLP and head.
std::int64_t activations_of(const LmConfig& held, const Shard& shard, std::int64_t rows) {
  const std::int64_t queries = held.heads * held.head_dim;
  const std::int64_t keys = held.kv_heads * held.head_dim;
  const std::int64_t attention = rows * (2 * held.width + 2 * queries + 3 * keys);
  const std::int64_t mlp = rows * (2 * held.width + 3 * held.inner);
  const std::int64_t piece =
      std::min(rows, kRowBlock) * std::min(shard.vocab.size(), kVocabularyBlock);
  // Logits, and the scores that are made of them.
  const std::int64_t head = shard.has_head ? 2 * rows * held.width + 2 * piece : 0;
  return kFloat * std::max({attention, mlp, head});
}

std::int64_t buffers_of(const LmConfig& config, const Shard& shard, std::int64_t rows) {
  const std::int64_t stream = rows * config.width * kFloat;
  if (shard.is_summand) return stream;  // what comes in while sums go around
  if (!is_pipeline(config, shard) || shard.has_head) return 0;
  return 2 * stream;  // passes that wait for the next rank
}

std::vector<MemoryUse> use_of(const LmConfig& config, std::span<const Shard> shards,
                              const MemoryDemand& demand) {
  std::vector<MemoryUse> use;
  for (const Shard& shard : shards)
    use.push_back(memory_of(config, shard, demand, static_cast<int>(shards.size())));
  return use;
}

bool fits(const std::vector<MemoryUse>& use, std::int64_t bytes) {
  return std::ranges::all_of(use, [bytes](const MemoryUse& it) { return it.total() <= bytes; });
}

/// The largest batch up to demand.batch_size; 0 when not even one sequence fits.
std::int64_t largest_batch(const LmConfig& config, std::span<const Shard> shards,
                           MemoryDemand demand, std::int64_t bytes) {
  std::int64_t good = 0;
  std::int64_t bad = demand.batch_size + 1;
  while (bad - good > 1) {
    demand.batch_size = (good + bad) / 2;
    (fits(use_of(config, shards, demand), bytes) ? good : bad) = demand.batch_size;
  }
  return good;
}

}  // namespace

MemoryUse memory_of(const LmConfig& config, const Shard& shard, const MemoryDemand& demand,
                    int ranks) {
  const LmConfig held = held_by(shard, config);
  const std::int64_t batches = batches_of(config, shard, ranks);
  const std::int64_t rows = rows_of(demand, batches);
  return {.weights = weights_of(config, shard, demand.device),
          .cache = cache_of(held, demand, batches),
          .activations = activations_of(held, shard, rows),
          .buffers = buffers_of(config, shard, rows)};
}

std::vector<Shard> shards_of(const LmConfig& config, const GroupPlan& plan, int ranks) {
  if (ranks == 1) return {whole_model(config)};
  if (plan.split == Split::tensor) return tensor_shards(config, ranks);
  const std::vector<std::int64_t> equal(static_cast<std::size_t>(ranks), 1);
  return pipeline_shards(config, place_layers(config, plan.layers, equal));
}

std::optional<MemoryFit> fit_memory(const LmConfig& config, const GroupPlan& plan,
                                    const MemoryDemand& demand, std::int64_t bytes_per_rank,
                                    int most_ranks) {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) {
    std::vector<Shard> shards;
    try {
      shards = shards_of(config, plan, ranks);
    } catch (const Failure&) {
      continue;  // the model cannot be split over so many
    }
    const std::int64_t batch = largest_batch(config, shards, demand, bytes_per_rank);
    if (batch == 0) continue;
    MemoryDemand fitting = demand;
    fitting.batch_size = batch;
    return MemoryFit{ranks, batch, use_of(config, shards, fitting)};
  }
  return std::nullopt;
}

}  // namespace mgpu::language
