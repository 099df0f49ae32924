#pragma once

#include <cstdint>

#include <mgpu/ad/token_kind.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/tensor/compute_kind.hpp>

namespace mgpu::ad {

enum class AttentionKind : std::uint8_t {
  eager,  // libtorch's matrix products; keeps the attention probabilities of all token pairs
  flash,  // this program's kernel; keeps only a few rows of attention probabilities at a time
};

/// The values of the keys model.* of recipe `ad`, which define its transformer. read_ad_settings()
/// sets `compute` from another key, and `grid` and `num_actions` from the environment.
struct AdTransformerConfig {
  TokenKind tokens = TokenKind::step;
  AttentionKind attention = AttentionKind::flash;
  tensor::ComputeKind compute = tensor::ComputeKind::f32;  // of matrix products only
  std::int64_t n_embd = 64;
  std::int64_t n_layer = 4;
  std::int64_t n_head = 4;
  std::int64_t n_inner = 128;
  std::int64_t n_transit = 240;  // most tokens of a sequence, the current state included
  double dropout = 0.1;          // probability to drop an attention weight, or an element of the
                                 // output of a sublayer
  std::int64_t grid = 9;         // cells per side of the grid world
  std::int64_t num_actions = 5;

  friend bool operator==(const AdTransformerConfig&, const AdTransformerConfig&) = default;
};

/// Adds the keys model.arch, model.tokens, model.tf_n_embd, ... to `table`.
void add_model_keys(KeyTable& table);

/// Reads the keys model.* of recipe `ad`. Leaves `compute`, `grid` and `num_actions` at their
/// defaults.
/// Errors: Failure E107 (exit 78) when tf_n_embd is not a multiple of tf_n_head, or when a head is
///         wider than 64 with flash attention.
AdTransformerConfig read_ad_transformer_config(const Config& config);

/// Reads the key model.tokens alone, for checks that must work even if other keys are wrong.
TokenKind read_token_kind(const Config& config);
/// Reads the key model.n_transit alone, for checks that must work even if other keys are wrong.
std::int64_t read_n_transit(const Config& config);

}  // namespace mgpu::ad
