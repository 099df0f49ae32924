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

/// Parameters of rotary position embeddings. Fields that `kind` does not use have their default
/// values.
struct RopeConfig {
  RopeKind kind = RopeKind::none;
  double theta = 10000.0;
  double factor = 1.0;
  std::int64_t original_positions = 0;  // llama3 and yarn only; context length in pretraining
  double low_freq_factor = 1.0;         // llama3 only
  double high_freq_factor = 4.0;        // llama3 only
  double beta_fast = 32.0;              // yarn only
  double beta_slow = 1.0;               // yarn only
  bool truncate = true;  // yarn only; true: the bounds of YaRN's ramp are rounded to integers
  double attention_factor = 1.0;  // yarn only; multiplies cosine and sine

  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
};

/// Settings that may differ between the layers of a model.
struct LayerConfig {
  std::int64_t window = 0;   // number of keys that a query sees, including its own key; 0: no limit
  double score_scale = 1.0;  // multiplies the product of query and key

  friend bool operator==(const LayerConfig&, const LayerConfig&) = default;
};

/// Settings of a mixture of experts that replaces the MLP. The input of an expert's down projection
/// is (up + 1) * gate * sigmoid(gain * gate). Here `gate` is the output of the gate projection,
/// clamped to at most `limit`. `up` is the output of the up projection, clamped to [-limit, limit].
struct ExpertConfig {
  std::int64_t count = 0;  // number of experts; 0: one MLP for all tokens
  std::int64_t used = 0;   // number of experts that a token uses
  double gain = 1.702;
  double limit = 7.0;

  friend bool operator==(const ExpertConfig&, const ExpertConfig&) = default;
};

/// Default settings for generation, from config.json and generation_config.json. Values in
/// generation_config.json take precedence. `unused` and `unused_in_draws` come from
/// generation_config.json alone if it exists, and from config.json otherwise.
struct GenerationDefaults {
  std::vector<std::int64_t> eos_ids;  // ids that end a completion; may be empty
  bool do_sample = false;
  double temperature = 1.0;
  std::int64_t top_k = 50;
  double top_p = 1.0;
  double repetition_penalty = 1.0;
  std::vector<std::string> unused;           // unsupported keys that affect greedy decoding
  std::vector<std::string> unused_in_draws;  // unsupported keys that affect sampling only

  friend bool operator==(const GenerationDefaults&, const GenerationDefaults&) = default;
};

/// The name of the vocabulary head's matrix in the weight files of every model family.
constexpr const char* kHeadName = "lm_head.weight";

/// Says which matrix is the vocabulary head, by the rules of transformers. If config.json ties the
/// head to the embedding, and read_lm_config() gets FolderWeights::used, the value depends on the
/// tensors in the safetensors files. In all other cases the value is `as_configured`.
enum class StoredHead : std::uint8_t {
  as_configured,  // the head is tied or not, as config.json says. A stored copy of a tied head was
                  // not looked for, was not found, or equals the embedding.
  untied,         // the stored head differs from the stored embedding; the stored head is used
  is_embedding,   // the head is stored, but no embedding; the head is used as the embedding, too
};

/// The configuration of a decoder-only language model. The names of the fields are the same for all
/// model families.
struct LmConfig {
  std::string family;  // model_type of config.json, such as "llama"
  std::int64_t vocab = 0;
  std::int64_t hidden_size = 0;        // width of the residual stream
  std::int64_t intermediate_size = 0;  // width inside the MLP, or inside an expert
  std::int64_t heads = 0;              // number of query heads
  std::int64_t kv_heads = 0;           // number of key-value heads; divides `heads`
  std::int64_t head_dim = 0;           // width of one head
  std::int64_t max_positions = 0;      // maximum context length
  std::vector<LayerConfig> layers;
  NormKind norm = NormKind::rms;
  double norm_epsilon = 1e-6;
  Activation activation = Activation::silu;
  RopeConfig rope;         // if its kind is `none`, position embeddings are learned
  bool qkv_bias = false;   // biases of the query, key and value projections
  bool out_bias = false;   // bias of the attention output projection
  bool mlp_bias = false;   // biases inside the MLP
  ExpertConfig experts;    // experts.count 0: no mixture of experts
  bool sinks = false;      // attention sinks: one learned score per head, without a value vector
  bool head_norm = false;  // RMS norm of each query and key head before the rotation
  bool tied_head = false;  // the embedding matrix is also the vocabulary head
  StoredHead stored_head = StoredHead::as_configured;
  std::string stored_type;  // `dtype` of config.json, such as "bfloat16"; "": absent
  GenerationDefaults generation;

  friend bool operator==(const LmConfig&, const LmConfig&) = default;
};

/// Whether the weights of a model folder are used, or only its configuration.
enum class FolderWeights : std::uint8_t { used, ignored };

/// Reads config.json and, if it exists, generation_config.json, as written by transformers 4 and 5.
/// If config.json ties the head to the embedding and `weights` is `used`, the function also checks
/// which head the weight files have (StoredHead).
///
/// Errors: Failure with one of these codes:
///         - E603: there is no config.json, or a file is unreadable or above 16 MiB
///         - E622: a file is a Git LFS pointer
///         - E623: a file is not a JSON object
///         - E701: the family or a feature is not supported; the message lists what is supported
///         - E702: a value is not valid
///
///         If the function checks the stored head and the folder has safetensors files, the
///         errors of WeightFiles are possible, too.
LmConfig read_lm_config(const fs::path& folder, FolderWeights weights = FolderWeights::used);

/// The input of parse_lm_config(). One rank can read it from disk and send it to other ranks.
struct LmConfigTexts {
  std::string config;                     // content of config.json
  std::optional<std::string> generation;  // content of generation_config.json; nullopt: no file
  StoredHead head = StoredHead::as_configured;
};
/// Reads config.json and, if it exists, generation_config.json. Does not set LmConfigTexts::head.
/// Errors: Failure E603 (no config.json, or a file that is unreadable or above 16 MiB).
LmConfigTexts read_config_texts(const fs::path& folder);
/// Reads the same files as the overload above. If `weights` is `used`, also sets
/// LmConfigTexts::head. Errors: those of read_lm_config().
LmConfigTexts read_config_texts(const fs::path& folder, FolderWeights weights);
/// Parses `texts`. `folder` is only named in error messages.
/// Errors: Failure E622, E623, E701, E702.
LmConfig parse_lm_config(const fs::path& folder, const LmConfigTexts& texts);

/// Returns a note for the user if config.json of `folder` ties the head to the embedding, but the
/// stored head differs from the embedding. Returns "" otherwise.
std::string head_note(const fs::path& folder, const LmConfig& config);

}  // namespace mgpu::lm
