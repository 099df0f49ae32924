#include "transformer_block.hpp"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include <mgpu/tensor/device_stream.hpp>

#include "attention_op.hpp"

namespace mgpu::ad {
namespace {

constexpr double kNormEpsilon = 1e-5;
constexpr double kInitStd = 0.02;  // standard deviation of initial weights, as in GPT-2

/// The dropout sites of a block. The number of a site in the model is 4 * layer + Site. This number
/// must never change, because it selects the random numbers of the site.
enum class Site : std::uint32_t { attention = 0, attention_residual = 1, mlp_residual = 2 };

/// Returns whether libtorch has fast matrix products of type `compute` on this CPU. If not,
/// linear() rounds the operands to 16 bits and multiplies them as float32. The products are then
/// exact, and the sums are more precise than 16-bit sums.
bool processor_multiplies([[maybe_unused]] tensor::ComputeKind compute) {
#ifdef __x86_64__
  if (compute == tensor::ComputeKind::bf16) return __builtin_cpu_supports("avx512bf16") != 0;
#endif
  return false;
}

std::string prefix(std::int64_t layer) {
  return "blocks." + std::to_string(layer) + ".";
}

Dropout site_of(const AdTransformerConfig& config, std::int64_t layer, Site kind,
                const BlockDropout& dropout) {
  const auto site = static_cast<std::uint32_t>(4 * layer) + static_cast<std::uint32_t>(kind);
  return {{dropout.seed, site, kernels::dropout_threshold(config.dropout)}, dropout.samples};
}

at::Tensor mlp(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
               const std::string& block, const at::Tensor& x) {
  const at::Tensor h = layer_norm(arena, block + "norm2", x);
  const at::Tensor up = linear(arena, block + "mlp.up", h, config.compute);
  return linear(arena, block + "mlp.down", at::gelu(up), config.compute);
}

/// Computes the attention of new tokens over the cache, [B, T, D]. In the shapes below, S is
/// place.visible.
at::Tensor cached_attention(const AdTransformerConfig& config, const at::Tensor& q,
                            const DecodePlace& place, const at::Tensor& keys,
                            const at::Tensor& values) {
  const at::Tensor k = keys.narrow(2, 0, place.visible);    // [B, H, S, C]
  const at::Tensor v = values.narrow(2, 0, place.visible);  // [B, H, S, C]
  const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
  const at::Tensor slots = at::arange(place.visible, place.positions.options());
  const at::Tensor later = slots.view({1, 1, 1, -1}) >
                           place.positions.view({q.size(0), 1, q.size(2), 1});  // [B, 1, T, S]
  const at::Tensor scores = at::matmul(q * scale, k.transpose(-1, -2));
  const at::Tensor p =
      scores.masked_fill(later, -std::numeric_limits<double>::infinity()).softmax(-1);
  return at::matmul(p, v).transpose(1, 2).reshape({q.size(0), q.size(2), config.n_embd});
}

}  // namespace

at::Tensor linear(const tensor::ParameterArena& arena, const std::string& name, const at::Tensor& x,
                  tensor::ComputeKind compute) {
  const at::Tensor& weight = arena.parameter(name + ".weight");
  const at::Tensor& bias = arena.parameter(name + ".bias");
  if (compute == tensor::ComputeKind::f32) return at::linear(x, weight, bias);
  const at::ScalarType type = compute == tensor::ComputeKind::bf16 ? at::kBFloat16 : at::kHalf;
  if (!tensor::runs_on_gpu(x) && !processor_multiplies(compute)) {
    const auto rounded = [type](const at::Tensor& t) { return t.to(type).to(t.scalar_type()); };
    return rounded(at::linear(rounded(x), rounded(weight), rounded(bias)));
  }
  return at::linear(x.to(type), weight.to(type), bias.to(type)).to(x.scalar_type());
}

at::Tensor layer_norm(const tensor::ParameterArena& arena, const std::string& name,
                      const at::Tensor& x) {
  return at::layer_norm(x, {x.size(-1)}, arena.parameter(name + ".weight"),
                        arena.parameter(name + ".bias"), kNormEpsilon);
}

std::vector<tensor::ParameterSpec> block_specs(const AdTransformerConfig& config,
                                               std::int64_t layer) {
  const std::int64_t d = config.n_embd;
  const std::string block = prefix(layer);
  // As in GPT-2, layers that add to the residual stream start with smaller weights, so that the
  // variance of the stream stays constant.
  const double residual_std = kInitStd / std::sqrt(2.0 * static_cast<double>(config.n_layer));
  return {
      {block + "norm1.weight", {d}, 0.0, 1.0, false},
      {block + "norm1.bias", {d}},
      {block + "attn.qkv.weight", {3 * d, d}, kInitStd, 0.0, true},
      {block + "attn.qkv.bias", {3 * d}},
      {block + "attn.out.weight", {d, d}, residual_std, 0.0, true},
      {block + "attn.out.bias", {d}},
      {block + "norm2.weight", {d}, 0.0, 1.0, false},
      {block + "norm2.bias", {d}},
      {block + "mlp.up.weight", {config.n_inner, d}, kInitStd, 0.0, true},
      {block + "mlp.up.bias", {config.n_inner}},
      {block + "mlp.down.weight", {d, config.n_inner}, residual_std, 0.0, true},
      {block + "mlp.down.bias", {d}},
  };
}

at::Tensor block_forward(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                         std::int64_t layer, const at::Tensor& x, const BlockDropout& dropout) {
  const std::string block = prefix(layer);
  const bool drops = dropout.samples.defined();
  const Dropout on_attention = site_of(config, layer, Site::attention, dropout);
  const Dropout on_branch = site_of(config, layer, Site::attention_residual, dropout);
  const Dropout on_mlp = site_of(config, layer, Site::mlp_residual, dropout);

  const at::Tensor h = layer_norm(arena, block + "norm1", x);
  const at::Tensor qkv = linear(arena, block + "attn.qkv", h, config.compute);  // [B, T, 3 D]
  const at::Tensor attention_out =
      causal_attention(qkv, config.n_head, config.attention, drops ? &on_attention : nullptr);
  const at::Tensor branch = linear(arena, block + "attn.out", attention_out, config.compute);
  const at::Tensor residual = dropout_add(branch, x, drops ? &on_branch : nullptr);
  return dropout_add(mlp(arena, config, block, residual), residual, drops ? &on_mlp : nullptr);
}

at::Tensor block_decode(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                        std::int64_t layer, const at::Tensor& x, const DecodePlace& place,
                        KvCache& cache) {
  const std::string block = prefix(layer);
  const std::int64_t rows = x.size(0);
  const std::int64_t tokens = x.size(1);
  const std::int64_t head_dim = config.n_embd / config.n_head;
  const at::Tensor& keys = cache.keys(static_cast<std::size_t>(layer));
  const at::Tensor& values = cache.values(static_cast<std::size_t>(layer));

  const at::Tensor h = layer_norm(arena, block + "norm1", x);
  const at::Tensor qkv = linear(arena, block + "attn.qkv", h, config.compute);  // [B, T, 3 D]
  const at::Tensor parts =
      qkv.view({rows, tokens, 3, config.n_head, head_dim}).permute({2, 0, 3, 1, 4});
  const at::Tensor slots = place.positions.view({rows, 1, tokens, 1}).expand_as(parts[1]);
  keys.scatter_(2, slots, parts[1]);
  values.scatter_(2, slots, parts[2]);
  const at::Tensor attention_out =
      place.is_fresh ? causal_attention(qkv, config.n_head, config.attention, nullptr)
                     : cached_attention(config, parts[0], place, keys, values);
  const at::Tensor residual = x + linear(arena, block + "attn.out", attention_out, config.compute);
  return residual + mlp(arena, config, block, residual);
}

}  // namespace mgpu::ad
