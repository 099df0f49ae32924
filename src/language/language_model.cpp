#include <algorithm>
#include <new>
#include <set>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <malloc.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/failpoint.hpp>
#include <mgpu/language/language_model.hpp>

#include "attention.hpp"
#include "experts.hpp"
#include "huge_pages.hpp"
#include "rope.hpp"
#include "row_ops.hpp"
#include "token_runs.hpp"

namespace mgpu::language {
namespace {

/// One call: its tokens, and what all layers need of them.
struct Call {
  const LmConfig& config;  // of what is here
  TokenPlaces places;
  Rotation rotation;  // undefined with learned positions
  PagedCache* cache;  // nullptr: keys live as long as their layer
  const Shard& shard;
  ShardPeers* peers;
};

/// Where the weights are.
const at::Tensor& any_of(const LmWeights& weights) {
  return weights.embedding.defined() ? weights.embedding
                                     : weights.layers.front().attention_norm.weight;
}

/// What is computed: float32, there.
at::TensorOptions options_of(const LmWeights& weights) {
  return any_of(weights).options().dtype(at::kFloat);
}

void extend_cache(std::span<const TokenRun> runs, PagedCache& cache) {
  std::set<std::int64_t> sequences;
  std::vector<std::int64_t> extended;
  std::int64_t needed = 0;
  for (const TokenRun& run : runs) {
    if (!sequences.insert(run.sequence).second)
      throw ShapeError("sequence " + std::to_string(run.sequence) + " comes twice in a call");
    needed += cache.pages_for(run.sequence, static_cast<std::int64_t>(run.ids.size()));
    if (!run.ids.empty()) extended.push_back(run.sequence);
  }
  needed -= cache.pages_left_over(extended);
  if (needed > cache.free_pages())
    throw ShapeError("PagedCache: " + std::to_string(needed) + " pages are needed, " +
                     std::to_string(cache.free_pages()) + " are free");
  for (const TokenRun& run : runs)
    cache.extend(run.sequence, static_cast<std::int64_t>(run.ids.size()));
}

/// Rows of tokens that other ranks have are zero.
at::Tensor rows_here(const at::Tensor& embedding, const at::Tensor& ids, const Range& vocab) {
  const at::Tensor elsewhere = (ids < vocab.begin).logical_or(ids >= vocab.end);
  const at::Tensor places = (ids - vocab.begin).masked_fill(elsewhere, 0);
  return embedding.index_select(0, places).to(at::kFloat).masked_fill_(elsewhere.unsqueeze(1), 0.0);
}

/// What goes into the first layer that is here, [N, D].
at::Tensor enter(const LmWeights& weights, const at::Tensor& ids, const Call& call) {
  at::Tensor x;
  if (!call.shard.has_embedding) {
    x = at::empty({ids.size(0), call.config.width}, options_of(weights));
    call.peers->receive(x);
    return x;
  }
  if (call.shard.is_summand) {
    x = rows_here(weights.embedding, ids, call.shard.vocab);
    call.peers->sum(x);
  } else {
    x = weights.embedding.index_select(0, ids).to(at::kFloat);
  }
  if (!weights.positions.defined()) return x;
  return x + weights.positions.index_select(0, call.places.positions);
}

at::Tensor attention(const LayerWeights& weights, std::size_t layer, const at::Tensor& x,
                     const Call& call) {
  const LmConfig& config = call.config;
  at::Tensor q = project(x, weights.q).view({-1, config.heads, config.head_dim});
  at::Tensor k = project(x, weights.k).view({-1, config.kv_heads, config.head_dim});
  const at::Tensor v = project(x, weights.v).view({-1, config.kv_heads, config.head_dim});
  if (call.rotation.cosine.defined()) {
    q = rotate(q, call.rotation, weights.q_norm, config.norm_epsilon);
    k = rotate(k, call.rotation, weights.k_norm, config.norm_epsilon);
  }
  const LayerConfig& kind = config.layers[layer];
  if (call.cache == nullptr)
    return project(attend(q, k, v, call.places, kind, weights.sinks), weights.out);
  call.cache->write(layer, call.places.slots, k, v);
  const at::Tensor mixed = attend(q, call.cache->keys(layer), call.cache->values(layer),
                                  call.places, kind, weights.sinks);
  return project(mixed, weights.out);
}

at::Tensor mlp(const LmConfig& config, const LayerWeights& weights, const at::Tensor& x) {
  if (!weights.experts.empty()) return mix_experts(config, weights, x);
  const at::Tensor up = project(x, weights.up);
  const bool has_gate = weights.gate.is_defined();
  const at::Tensor inner = has_gate
                               ? gated_activation(config.activation, project(x, weights.gate), up)
                               : gated_activation(config.activation, up, {});
  return project(inner, weights.down);
}

/// Adds to the residual stream what a part of a layer gave.
void add_to(const at::Tensor& x, const at::Tensor& values, const Call& call) {
  if (call.shard.is_summand) call.peers->sum(values);
  x.add_(values);
}

at::Tensor run_layers(const LmWeights& weights, const at::Tensor& ids, const Call& call) {
  const LmConfig& config = call.config;
  const at::Tensor x = enter(weights, ids, call);  // [N, D]
  for (std::size_t layer = 0; layer < weights.layers.size(); ++layer) {
    const LayerWeights& block = weights.layers[layer];
    add_to(x, attention(block, layer, normalize(config, x, block.attention_norm), call), call);
    if (failpoint("generate.layer").error != 0) throw std::bad_alloc();
    add_to(x, mlp(config, block, normalize(config, x, block.mlp_norm)), call);
    mark_progress();
  }
  if (call.shard.has_head) return normalize(config, x, weights.norm);
  call.peers->pass_on(x);
  return at::empty({0, config.width}, x.options());
}

/// Matrices in the order in which a pass reads them.
std::vector<Linear*> linears_of(LmWeights& weights) {
  std::vector<Linear*> linears;
  for (LayerWeights& layer : weights.layers) {
    const std::vector<Linear*> own = linears_of(layer);
    linears.insert(linears.end(), own.begin(), own.end());
  }
  linears.push_back(&weights.head);  // undefined where another rank has it
  return linears;
}

std::int64_t panel_bytes(const Linear& linear) {
  if (!linear.weight.defined() || !linear.weight.is_cpu()) return 0;
  return c10::multiply_integers(panel_shape(linear)) *
         static_cast<std::int64_t>(linear.weight.element_size());
}

/// glibc keeps what is freed in the middle of its heap; here it would be a second copy of all
/// weights.
void give_back_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

void pack_all(LmWeights& weights) {
  constexpr std::int64_t kTrimmed = std::int64_t{8} << 20;  // bytes that wait for it
  const std::vector<Linear*> linears = linears_of(weights);
  std::int64_t bytes = 0;
  for (const Linear* linear : linears)
    bytes += HugePageArena::rounded_up(panel_bytes(*linear));
  HugePageArena arena(bytes);
  std::int64_t let_go = 0;
  for (Linear* linear : linears) {
    if (panel_bytes(*linear) == 0) continue;
    const at::Tensor panels = arena.take(panel_shape(*linear), linear->weight.scalar_type());
    pack(*linear, panels);
    let_go += static_cast<std::int64_t>(panels.nbytes());
    if (let_go < kTrimmed) continue;
    give_back_free_memory();
    let_go = 0;
  }
  give_back_free_memory();
}

}  // namespace

LanguageModel::LanguageModel(LmConfig config, LmWeights weights)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      shard_(whole_model(config_)),
      held_(config_) {
  pack_all(weights_);
}

LanguageModel::LanguageModel(LmConfig config, LmWeights weights, const Shard& shard,
                             ShardPeers& peers)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      shard_(shard),
      held_(held_by(shard, config_)),
      peers_(&peers) {
  pack_all(weights_);
}

LanguageModel LanguageModel::open(const fs::path& folder, const LoadOptions& options) {
  LmConfig config = read_lm_config(folder);
  LmWeights weights = load_weights(config, store::WeightFiles(folder), options);
  return {std::move(config), std::move(weights)};
}

at::Tensor LanguageModel::run(std::span<const TokenRun> runs, PagedCache* cache) const {
  const at::NoGradGuard no_grad;
  const at::Tensor& like = any_of(weights_);
  const at::Tensor ids = all_ids(held_, runs).to(like.device());
  if (ids.numel() == 0) return at::empty({0, held_.width}, options_of(weights_));
  const std::vector<RotatedRun> rotated = places_of(held_, runs, cache);
  if (cache != nullptr) extend_cache(runs, *cache);
  const Call call{
      held_,
      cache == nullptr ? places_without_cache(runs, like) : places_in_cache(runs, *cache, like),
      held_.rope.kind == RopeKind::none ? Rotation{} : make_rotation(held_, rotated, like),
      cache,
      shard_,
      peers_};
  return run_layers(weights_, ids, call);
}

at::Tensor LanguageModel::hidden(std::span<const TokenRun> runs) const {
  return run(runs, nullptr);
}

at::Tensor LanguageModel::hidden(std::span<const TokenRun> runs, PagedCache& cache) const {
  return run(runs, &cache);
}

std::int64_t LanguageModel::num_sums(std::int64_t tokens) const {
  return shard_.is_summand && tokens > 0 ? 1 + 2 * shard_.layers.size() : 0;
}

PagedCache LanguageModel::make_cache(const PagedCache::Sizes& sizes) const {
  return {held_, sizes, options_of(weights_)};
}

}  // namespace mgpu::language
