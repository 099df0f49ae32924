#include <algorithm>
#include <numeric>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>

#include "layer_sharing.hpp"
#include "lm/decode/draw_bits.hpp"
#include "lm/decode/online_logits.hpp"
#include "lm/weights/shapes_only.hpp"

namespace mgpu::lm {

const char* name_of(Split split) {
  return split == Split::tensor ? "tensor" : "pipeline";
}

namespace {

[[noreturn]] void refuse(const std::string& why, const std::string& help) {
  throw Failure({"E126", ExitCode::config, why, {}, help});
}

/// Splits a range into `parts` parts as evenly as possible, and returns part number `index`.
Range part_of_range(const Range& range, std::int64_t index, std::int64_t parts) {
  return {range.begin + range.size() * index / parts,
          range.begin + range.size() * (index + 1) / parts};
}

/// Returns the capacity of each rank: its free bytes, but at least 1, and at least a thousandth of
/// the largest value. These lower bounds keep the load of a rank finite, even if the rank has no
/// free memory.
std::vector<double> capacities_of(std::span<const std::int64_t> free_bytes) {
  const auto most = static_cast<double>(*std::ranges::max_element(free_bytes));
  std::vector<double> capacities;
  for (const std::int64_t bytes : free_bytes)
    capacities.push_back(std::max({static_cast<double>(bytes), most / 1000.0, 1.0}));
  return capacities;
}

std::vector<int> checked_manual(const LmConfig& config, const LayerMap& map, std::size_t ranks) {
  const std::string help = "one rank per layer, in ascending order, all of 0 to " +
                           std::to_string(ranks - 1) + "; or balanced";
  if (map.ranks.size() != config.layers.size()) {
    refuse("the map names " + std::to_string(map.ranks.size()) + " layers, the model has " +
               std::to_string(config.layers.size()),
           help);
  }
  std::int64_t last = 0;
  for (const std::int64_t rank : map.ranks) {
    if (rank != last && rank != last + 1) {
      refuse("the map of layers goes from rank " + std::to_string(last) + " to rank " +
                 std::to_string(rank),
             help);
    }
    last = rank;
  }
  if (map.ranks.front() != 0 || std::cmp_not_equal(last + 1, ranks)) {
    refuse("the map of layers does not use all of the " + std::to_string(ranks) + " ranks", help);
  }
  return {map.ranks.begin(), map.ranks.end()};
}

std::int64_t bytes_of(const std::vector<at::Tensor*>& tensors) {
  std::int64_t count = 0;
  for (const at::Tensor* tensor : tensors)
    count += tensor->numel();
  return count * static_cast<std::int64_t>(sizeof(float));
}

void add_if_there(std::vector<at::Tensor*>& tensors, std::initializer_list<at::Tensor*> more) {
  for (at::Tensor* tensor : more)
    if (tensor->defined()) tensors.push_back(tensor);
}

/// Returns the part of a linear layer that computes a range of its outputs.
Linear rows_of(const Linear& linear, const Range& range) {
  if (!linear.is_defined()) return linear;
  const auto cut = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.narrow(0, range.begin, range.size()) : tensor;
  };
  return {cut(linear.weight), cut(linear.bias), {}};
}

/// Returns the part of a linear layer that uses a range of its inputs. An all-reduce adds up the
/// outputs of all ranks. Only the rank with the first inputs has the bias, so that the bias is
/// added once.
Linear columns_of(const Linear& linear, const Range& range) {
  if (!linear.is_defined()) return linear;
  return {linear.weight.narrow(1, range.begin, range.size()),
          range.begin == 0 ? linear.bias : at::Tensor(),
          {}};
}

Range times(const Range& range, std::int64_t factor) {
  return {range.begin * factor, range.end * factor};
}

LayerWeights shard_layer(const LmConfig& config, const LayerWeights& layer, const Shard& shard) {
  LayerWeights part = layer;
  const Range queries = times(shard.heads, config.head_dim);
  const Range keys = times(shard.kv_heads, config.head_dim);
  part.q = rows_of(layer.q, queries);
  part.k = rows_of(layer.k, keys);
  part.v = rows_of(layer.v, keys);
  part.out = columns_of(layer.out, queries);
  part.gate = rows_of(layer.gate, shard.intermediate);
  part.up = rows_of(layer.up, shard.intermediate);
  part.down = columns_of(layer.down, shard.intermediate);
  for (Expert& expert : part.experts) {
    expert = {rows_of(expert.gate, shard.intermediate), rows_of(expert.up, shard.intermediate),
              columns_of(expert.down, shard.intermediate)};
  }
  if (layer.sinks.defined())
    part.sinks = layer.sinks.narrow(0, shard.heads.begin, shard.heads.size());
  return part;
}

/// Sets the query heads of `shard`, the shard of rank `r`, and the key-value heads that these query
/// heads use.
void share_heads(const LmConfig& config, std::int64_t r, std::int64_t ranks, Shard& shard) {
  const std::int64_t queries_per_key = config.heads / config.kv_heads;
  if (config.kv_heads >= ranks) {
    shard.kv_heads = part_of_range({0, config.kv_heads}, r, ranks);
    shard.heads = times(shard.kv_heads, queries_per_key);
    return;
  }
  const std::int64_t sharers = ranks / config.kv_heads;
  const std::int64_t key = r / sharers;
  shard.kv_heads = {key, key + 1};
  shard.heads = part_of_range(times(shard.kv_heads, queries_per_key), r % sharers, sharers);
}

void check_tensor(const LmConfig& config, int ranks) {
  const std::string of = " of the model on " + std::to_string(ranks) + " ranks";
  const std::string help =
      "fewer devices.gpus_per_model, or model.parallel=pipeline, which splits by layers";
  if (config.heads < ranks)
    refuse("there are only " + std::to_string(config.heads) + " attention heads" + of, help);
  if (config.kv_heads < ranks && ranks % config.kv_heads != 0) {
    refuse("the " + std::to_string(config.kv_heads) + " key heads" + of +
               " cannot be shared out evenly",
           help);
  }
  if (config.intermediate_size < ranks || config.vocab < ranks)
    refuse("there are fewer MLP columns or tokens than ranks", help);
  if ((config.vocab - 1) / kVocabularyBlock + ranks > kDrawBlocks)
    refuse("the " + std::to_string(config.vocab) + " tokens" + of + " are too many parts", help);
}

}  // namespace

std::vector<at::Tensor*> tensors_of(LayerWeights& layer) {
  std::vector<at::Tensor*> tensors;
  for (Linear* linear : linears_of(layer))
    add_if_there(tensors, {&linear->weight, &linear->bias});
  for (Norm* norm : {&layer.attention_norm, &layer.mlp_norm})
    add_if_there(tensors, {&norm->weight, &norm->bias});
  add_if_there(tensors, {&layer.q_norm, &layer.k_norm, &layer.sinks});
  return tensors;
}

std::vector<at::Tensor*> tensors_of(LmWeights& weights) {
  std::vector<at::Tensor*> tensors;
  add_if_there(tensors, {&weights.embedding, &weights.positions, &weights.norm.weight,
                         &weights.norm.bias, &weights.head.weight, &weights.head.bias});
  for (LayerWeights& layer : weights.layers) {
    const std::vector<at::Tensor*> own = tensors_of(layer);
    tensors.insert(tensors.end(), own.begin(), own.end());
  }
  return tensors;
}

WeightBytes weight_bytes(const LmConfig& config) {
  ShapesOnly shapes;
  LmWeights weights = bind_weights(config, shapes);
  WeightBytes bytes;
  bytes.layer = bytes_of(tensors_of(weights.layers.front()));
  bytes.embedding = bytes_of({&weights.embedding});
  if (weights.positions.defined()) bytes.embedding += bytes_of({&weights.positions});
  bytes.head = bytes_of({&weights.head.weight});
  return bytes;
}

std::vector<int> place_layers(const LmConfig& config, const LayerMap& map,
                              std::span<const std::int64_t> free_bytes) {
  const std::size_t ranks = free_bytes.size();
  if (config.layers.size() < ranks) {
    refuse("the model has " + std::to_string(config.layers.size()) + " layers for " +
               std::to_string(ranks) + " ranks",
           "fewer devices.gpus_per_model");
  }
  if (map.kind == LayerMap::Kind::manual) return checked_manual(config, map, ranks);
  const WeightBytes bytes = weight_bytes(config);
  const bool by_memory = map.kind == LayerMap::Kind::by_memory;
  LayerCosts costs{static_cast<double>(bytes.layer),
                   by_memory ? static_cast<double>(bytes.embedding) : 0.0,  // look-ups cost no time
                   static_cast<double>(bytes.head), std::vector<double>(ranks, 1.0)};
  if (by_memory) costs.capacities = capacities_of(free_bytes);
  std::vector<int> result;
  const std::vector<std::size_t> counts = share_out(costs, config.layers.size());
  for (std::size_t r = 0; r < ranks; ++r)
    result.insert(result.end(), counts[r], static_cast<int>(r));
  return result;
}

std::vector<Shard> pipeline_shards(const LmConfig& config, std::span<const int> layer_ranks) {
  const int ranks = layer_ranks.back() + 1;
  std::vector<Shard> shards(static_cast<std::size_t>(ranks), whole_model(config));
  for (int r = 0; r < ranks; ++r) {
    Shard& shard = shards[static_cast<std::size_t>(r)];
    const auto [first, last] = std::ranges::equal_range(layer_ranks, r);
    shard.layers = {first - layer_ranks.begin(), last - layer_ranks.begin()};
    shard.has_embedding = r == 0;
    shard.has_head = r + 1 == ranks;
  }
  return shards;
}

std::vector<Shard> tensor_shards(const LmConfig& config, int ranks) {
  check_tensor(config, ranks);
  std::vector<Shard> shards(static_cast<std::size_t>(ranks), whole_model(config));
  for (int r = 0; r < ranks; ++r) {
    Shard& shard = shards[static_cast<std::size_t>(r)];
    share_heads(config, r, ranks, shard);
    shard.intermediate = part_of_range({0, config.intermediate_size}, r, ranks);
    shard.vocab = part_of_range({0, config.vocab}, r, ranks);
    shard.is_tensor_parallel = ranks > 1;
  }
  return shards;
}

LmWeights shard_weights(const LmConfig& config, const LmWeights& weights, const Shard& shard) {
  LmWeights part;
  if (shard.has_embedding) {
    part.embedding = weights.embedding.narrow(0, shard.vocab.begin, shard.vocab.size());
    part.positions = weights.positions;
  }
  for (std::int64_t layer = shard.layers.begin; layer < shard.layers.end; ++layer)
    part.layers.push_back(
        shard_layer(config, weights.layers[static_cast<std::size_t>(layer)], shard));
  if (shard.has_head) {
    part.norm = weights.norm;
    part.head = rows_of(weights.head, shard.vocab);
  }
  return part;
}

}  // namespace mgpu::lm
