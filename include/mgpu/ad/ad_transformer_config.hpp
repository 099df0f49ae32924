#pragma once

#include <cstdint>

#include <mgpu/ad/token_kind.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/tensor/compute_kind.hpp>

namespace mgpu::ad {

enum class AttentionKind : std::uint8_t {
  eager,  // libtorch's matrix products with [B, H, T, T] in memory
  flash,  // this program's kernel, which keeps a few rows of probabilities at a time
};

/// The keys model.*.
struct AdTransformerConfig {
  TokenKind tokens = TokenKind::step;
  AttentionKind attention = AttentionKind::flash;
  tensor::ComputeKind compute =
      tensor::ComputeKind::f32;  // of matrix products; norms, softmax and loss use f32
  std::int64_t n_embd = 64;
  std::int64_t n_layer = 4;
  std::int64_t n_head = 4;
  std::int64_t n_inner = 128;
  std::int64_t n_transit = 240;  // longest sequence in tokens, including the query
  double dropout = 0.1;          // of attention probabilities and of both residual branches
  std::int64_t grid = 9;         // cells per side of the grid world
  std::int64_t num_actions = 5;

  friend bool operator==(const AdTransformerConfig&, const AdTransformerConfig&) = default;
};

/// Adds the keys model.arch, model.tokens, model.tf_n_embd, ... to the program's table.
void add_model_keys(KeyTable& table);

/// Reads the keys. Errors: Failure (exit 78) when tf_n_embd is not a multiple of tf_n_head, or a
/// head is wider than 64.
AdTransformerConfig read_ad_transformer_config(const Config& config);

/// These functions read one key each. Checks can call them even if other keys of model.* have wrong
/// values.
TokenKind read_token_kind(const Config& config);
std::int64_t read_n_transit(const Config& config);

}  // namespace mgpu::ad
