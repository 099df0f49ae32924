#include "ad_tokens.hpp"

#include <array>
#include <limits>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>

namespace mgpu::ad {
namespace {

constexpr double kInitStd = 0.02;  // standard deviation of initial weights, as in GPT-2

/// Returns how many rows of step_embed.weight belong to each field of a step. The fields are in the
/// order of their rows.
std::array<std::int64_t, 6> field_sizes(const AdTransformerConfig& config) {
  return {config.grid,  config.grid,     config.num_actions + 1,
          kStepRewards, config.grid + 1, config.grid + 1};
}

std::int64_t sum(const std::array<std::int64_t, 6>& sizes) {
  std::int64_t total = 0;
  for (const std::int64_t size : sizes)
    total += size;
  return total;
}

/// Returns N rows, [N, width], with ones at the `indices` [N, k] of each row and zeros elsewhere.
/// Rows that `is_bad` [N] marks are NaN. The product of any other row and a table is the sum of k
/// rows of the table. On a GPU, the backward pass of this product adds in a fixed order. The
/// backward pass of an index lookup does not.
at::Tensor hot(const at::Tensor& indices, const at::Tensor& is_bad, std::int64_t width,
               at::ScalarType type) {
  const at::Tensor zeros =
      at::zeros({indices.size(0), width}, indices.options().dtype(type));  // [N, width]
  return zeros.scatter(1, indices.clamp(0, width - 1), 1.0)
      .masked_fill_(is_bad.unsqueeze(1), std::numeric_limits<double>::quiet_NaN());
}

}  // namespace

std::vector<tensor::ParameterSpec> token_specs(const AdTransformerConfig& config) {
  const std::int64_t d = config.n_embd;
  if (config.tokens == TokenKind::step) {
    return {{"step_embed.weight", {sum(field_sizes(config)), d}, kInitStd, 0.0, true},
            {"position.weight", {config.n_transit, d}, kInitStd, 0.0, true}};
  }
  return {{"transition_embed.weight", {d, config.num_actions + 5}, kInitStd, 0.0, true},
          {"transition_embed.bias", {d}},
          {"query_embed.weight", {config.grid * config.grid, d}, kInitStd, 0.0, true},
          {"position.weight", {config.n_transit, d}, kInitStd, 0.0, true}};
}

at::Tensor to_device(const std::vector<std::int64_t>& numbers, const at::Tensor& like) {
  return at::tensor(numbers, at::kLong).to(like.device());
}

at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const StepTokens& tokens) {
  const std::array fields{tokens.x,      tokens.y,         tokens.action,
                          tokens.reward, tokens.landing_x, tokens.landing_y};
  for (const at::Tensor& field : fields)
    if (field.dim() != 2 || field.sizes() != tokens.x.sizes())
      throw ShapeError("the fields of StepTokens are not all [B, T]");
  const auto sizes = field_sizes(config);
  const at::Tensor& table = arena.parameter("step_embed.weight");  // [rows, D]
  std::vector<at::Tensor> indices;
  at::Tensor is_bad;  // [B * T]
  std::int64_t first = 0;
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const at::Tensor field = fields[f].reshape({-1});  // [B * T]
    const at::Tensor outside = (field < 0).logical_or_(field >= sizes[f]);
    is_bad = is_bad.defined() ? is_bad.logical_or_(outside) : outside;
    indices.push_back(field + first);
    first += sizes[f];
  }
  const at::Tensor rows = hot(at::stack(indices, 1), is_bad, first, table.scalar_type());
  return at::mm(rows, table).view({tokens.x.size(0), tokens.x.size(1), config.n_embd});
}

at::Tensor embed(const tensor::ParameterArena& arena, const AdTransformerConfig& config,
                 const TransitionTokens& tokens) {
  const std::int64_t rows = tokens.query.size(0);
  const std::int64_t states = config.grid * config.grid;
  if (tokens.transitions.dim() != 3 || tokens.transitions.size(0) != rows ||
      tokens.transitions.size(2) != config.num_actions + 5 ||
      static_cast<std::int64_t>(tokens.lengths.size()) != rows)
    throw ShapeError("TransitionTokens: transitions, query and lengths do not fit");
  for (const std::int64_t length : tokens.lengths)
    if (length < 0 || length > tokens.transitions.size(1))
      throw ShapeError("TransitionTokens: a length is outside the transitions");

  const at::Tensor& weight = arena.parameter("transition_embed.weight");
  const at::Tensor& states_table = arena.parameter("query_embed.weight");  // [G * G, D]
  const at::Tensor context = at::linear(tokens.transitions.to(weight.scalar_type()), weight,
                                        arena.parameter("transition_embed.bias"));
  const at::Tensor is_bad = (tokens.query < 0).logical_or_(tokens.query >= states);
  const at::Tensor query =
      at::mm(hot(tokens.query.unsqueeze(1), is_bad, states, weight.scalar_type()), states_table);
  const at::Tensor padded = at::constant_pad_nd(context, {0, 0, 0, 1});  // [B, T, D]
  const at::Tensor slots =
      at::arange(padded.size(1), tokens.query.options()).view({1, -1, 1});  // [1, T, 1]
  const at::Tensor is_query = slots == to_device(tokens.lengths, query).view({-1, 1, 1});
  return at::where(is_query, query.unsqueeze(1), padded);
}

}  // namespace mgpu::ad
