#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu::lm {

enum class NormKind : std::uint8_t { layer, rms };
enum class Activation : std::uint8_t { silu, gelu, gelu_tanh };
enum class RopeKind : std::uint8_t { none, standard, linear, dynamic, llama3, yarn };

/// Rotary positions. Fields that a kind does not use keep their defaults.
struct RopeConfig {
  RopeKind kind = RopeKind::none;
  double theta = 10000.0;
  double factor = 1.0;
  std::int64_t original_positions = 0;  // llama3, yarn: context of the pretraining
  double low_freq_factor = 1.0;         // llama3
  double high_freq_factor = 4.0;        // llama3
  double beta_fast = 32.0;              // yarn
  double beta_slow = 1.0;               // yarn
  bool truncate = true;                 // yarn: whole numbers as ends of the ramp
  double attention_factor = 1.0;        // yarn: times cosine and sine

  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
};

/// What may differ between the layers of a model.
struct LayerConfig {
  std::int64_t window = 0;   // keys that a query sees, its own included; 0: all before it
  double score_scale = 1.0;  // times the product of query and key

  friend bool operator==(const LayerConfig&, const LayerConfig&) = default;
};

/// A mixture of experts in place of one MLP: gates and ups are clamped to `limit`.
struct ExpertConfig {
  std::int64_t count = 0;  // 0: one MLP for all tokens
  std::int64_t used = 0;   // by each token
  double gain = 1.702;     // of the gate inside its sigmoid
  double limit = 7.0;

  friend bool operator==(const ExpertConfig&, const ExpertConfig&) = default;
};

/// generation_config.json, over what config.json says.
struct GenerationDefaults {
  std::vector<std::int64_t> eos_ids;  // empty: none
  std::optional<std::int64_t> bos_id;
  std::optional<std::int64_t> pad_id;
  bool do_sample = false;
  double temperature = 1.0;
  std::int64_t top_k = 50;
  double top_p = 1.0;
  double repetition_penalty = 1.0;
  std::vector<std::string> unused;           // keys that would change what transformers generates
  std::vector<std::string> unused_in_draws;  // where it draws tokens

  friend bool operator==(const GenerationDefaults&, const GenerationDefaults&) = default;
};

/// A decoder-only language model, whatever the spelling of its config.json.
struct LmConfig {
  std::string family;  // model_type: "llama"
  std::int64_t vocab = 0;
  std::int64_t width = 0;      // of the residual stream
  std::int64_t inner = 0;      // width inside the MLP, or inside an expert
  std::int64_t heads = 0;      // of queries
  std::int64_t kv_heads = 0;   // of keys and values; divides `heads`
  std::int64_t head_dim = 0;   //
  std::int64_t positions = 0;  // longest context that the model was made for
  std::vector<LayerConfig> layers;
  NormKind norm = NormKind::rms;
  double norm_epsilon = 1e-6;
  Activation activation = Activation::silu;
  RopeConfig rope;          // RopeKind::none: learned positions
  bool qkv_bias = false;    //
  bool out_bias = false;    // of the projection behind attention
  bool mlp_bias = false;    //
  ExpertConfig experts;     //
  bool sinks = false;       // each head may look at nothing: a learned score without a value
  bool head_norm = false;   // RMS norm of each query and key head before the rotation
  bool tied_head = false;   // the embedding is the head, too
  std::string stored_type;  // "bfloat16"; "" when the folder does not say
  GenerationDefaults generation;

  friend bool operator==(const LmConfig&, const LmConfig&) = default;
};

/// Reads config.json and, where there is one, generation_config.json, in the spellings of
/// transformers 4 and 5.
///
/// Errors: Failure E603 (no config.json), E623 (not a JSON object), E701 (family or feature that
///         is not supported, with the list of what is), E702 (a value that makes no sense).
LmConfig read_lm_config(const fs::path& folder);

/// The files that read_lm_config() looks at, for ranks that do not read themselves.
struct LmConfigTexts {
  std::string config;
  std::optional<std::string> generation;
};
LmConfigTexts read_config_texts(const fs::path& folder);  // Errors: Failure E603
LmConfig parse_lm_config(const fs::path& folder, const LmConfigTexts& texts);

}  // namespace mgpu::lm
