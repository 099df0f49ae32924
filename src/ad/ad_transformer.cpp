#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>

#include "ad_tokens.hpp"
#include "transformer_block.hpp"

namespace mgpu::ad {
namespace {

std::vector<tensor::ParameterSpec> specs_of(const AdTransformerConfig& config) {
  if (config.n_head < 1 || config.n_embd % config.n_head != 0)
    throw Error("AdTransformer: n_embd is not a multiple of n_head");
  std::vector<tensor::ParameterSpec> specs = token_specs(config);
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer)
    for (tensor::ParameterSpec& spec : block_specs(config, layer))
      specs.push_back(std::move(spec));
  specs.push_back({"norm.weight", {config.n_embd}, 0.0, 1.0, false});
  specs.push_back({"norm.bias", {config.n_embd}});
  specs.push_back({"head.weight", {config.num_actions, config.n_embd}, 0.02, 0.0, true});
  specs.push_back({"head.bias", {config.num_actions}});
  return specs;
}

void require(bool holds, const char* what) {
  if (!holds) throw ShapeError(what);
}

/// Returns x[b, at[b]] for each row b of x [B, T, D], as [B, D].
at::Tensor pick(const at::Tensor& x, const std::vector<std::int64_t>& at) {
  const at::Tensor index = to_device(at, x).view({-1, 1, 1}).expand({-1, 1, x.size(2)});
  return x.gather(1, index).squeeze(1);
}

/// Returns the output of the blocks, [B, T, D], for embedded tokens with positions 0, 1, ...
at::Tensor trunk(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const at::Tensor& embedded, const DropoutSamples* dropout) {
  require(embedded.size(1) <= config.n_transit, "more tokens than model.n_transit");
  at::Tensor x = embedded + arena.parameter("position.weight").narrow(0, 0, embedded.size(1));
  BlockDropout sites;
  if (dropout != nullptr && config.dropout > 0.0) {
    require(dropout->samples.dim() == 1 && dropout->samples.size(0) == x.size(0),
            "DropoutSamples: one sample ordinal per row is needed");
    sites = {dropout->seed, dropout->samples.contiguous()};
  }
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) {
    x = block_forward(arena, config, layer, x, sites);
    mark_progress();
  }
  return x;
}

/// Returns the output of the blocks, [B, T, D], for new tokens that follow the cached tokens.
/// Stores the keys and values of the new tokens in the cache, but does not change the cache's row
/// lengths.
at::Tensor trunk_cached(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                        const at::Tensor& embedded, KvCache& cache) {
  const std::int64_t tokens = embedded.size(1);
  const auto& lengths = cache.lengths();
  const std::int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const at::Tensor steps = at::arange(tokens, embedded.options().dtype(at::kLong));
  const at::Tensor slots =
      (to_device(lengths, embedded).view({-1, 1}) + steps).clamp_max_(config.n_transit);
  const DecodePlace place{slots, std::min(longest + tokens, config.n_transit), longest == 0};

  const at::Tensor positions = slots.clamp_max(config.n_transit - 1).view({-1});
  const at::Tensor& table = arena.parameter("position.weight");
  at::Tensor x = embedded + table.index_select(0, positions).view(embedded.sizes());
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer)
    x = block_decode(arena, config, layer, x, place, cache);
  mark_progress();
  return x;
}

at::Tensor head(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                const at::Tensor& x) {
  return linear(arena, "head", layer_norm(arena, "norm", x), config.compute);
}

}  // namespace

std::int64_t weights_size(const AdTransformerConfig& config) {
  return tensor::arena_size(specs_of(config));
}

AdTransformer::AdTransformer(const AdTransformerConfig& config, Device device, std::uint64_t seed,
                             DType dtype)
    : config_(config), arena_(specs_of(config), device, seed, dtype) {}

at::Tensor AdTransformer::forward(const StepTokens& tokens, const DropoutSamples* dropout) const {
  require(config_.tokens == TokenKind::step, "step tokens for a model of transitions");
  const at::Tensor embedded = embed(arena_, config_, tokens);
  return head(arena_, config_, trunk(arena_, config_, embedded, dropout));
}

at::Tensor AdTransformer::forward(const TransitionTokens& tokens,
                                  const DropoutSamples* dropout) const {
  require(config_.tokens == TokenKind::transition, "transition tokens for a model of steps");
  const at::Tensor embedded = embed(arena_, config_, tokens);
  const at::Tensor x = trunk(arena_, config_, embedded, dropout);
  return head(arena_, config_, pick(x, tokens.lengths));
}

KvCache AdTransformer::make_cache(std::int64_t rows) const {
  return KvCache(
      {config_.n_layer, rows, config_.n_head, config_.n_embd / config_.n_head, config_.n_transit},
      arena_.weights().options());
}

at::Tensor AdTransformer::decode(KvCache& cache, const StepTokens& tokens,
                                 const std::vector<std::int64_t>& counts) const {
  const at::NoGradGuard no_grad;
  require(config_.tokens == TokenKind::step, "step tokens for a model of transitions");
  const at::Tensor embedded = embed(arena_, config_, tokens);
  require(embedded.size(0) == cache.rows(), "decode: the cache has other rows than the tokens");
  KvCache grown = cache;  // shares the memory of keys and values, but not the lengths
  grown.grow(counts);
  const at::Tensor x = trunk_cached(arena_, config_, embedded, cache);
  cache = std::move(grown);
  std::vector<std::int64_t> last;
  for (const std::int64_t count : counts)
    last.push_back(std::max<std::int64_t>(count - 1, 0));
  return head(arena_, config_, pick(x, last));
}

at::Tensor AdTransformer::decode(KvCache& cache, const TransitionTokens& tokens) const {
  const at::NoGradGuard no_grad;
  require(config_.tokens == TokenKind::transition, "transition tokens for a model of steps");
  const at::Tensor embedded = embed(arena_, config_, tokens);
  require(embedded.size(0) == cache.rows(), "decode: the cache has other rows than the tokens");
  for (std::int64_t b = 0; b < cache.rows(); ++b)
    require(cache.length(b) + tokens.lengths[static_cast<std::size_t>(b)] < config_.n_transit,
            "decode: no room for the query in model.n_transit");
  const at::Tensor x = trunk_cached(arena_, config_, embedded, cache);
  cache.grow(tokens.lengths);
  return head(arena_, config_, pick(x, tokens.lengths));
}

}  // namespace mgpu::ad
