#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::jobs {

/// The keys generate.*.
void add_generate_keys(KeyTable& table);

/// The settings of job generate. nullopt: the model's generation_config.json or the program
/// decides.
struct GenerateKeys {
  run::JobKeys run;
  rows::ModelRowKeys rows;
  std::int64_t max_new_tokens = 0;
  std::int64_t num_samples = 1;
  std::optional<bool> do_sample;
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> repetition_penalty;
  std::vector<std::string> stops;  // generate.stop
  bool prompt_log_probs = true;
  bool add_special_tokens = true;
  std::optional<bool> add_generation_prompt;
  std::optional<std::int64_t> batch_size;

  /// Whether the folder decides something about how tokens are drawn.
  bool has_folder_values() const {
    return !do_sample || !temperature || !top_k || !top_p || !repetition_penalty;
  }
};

/// Reads the keys. check_generate_keys() must accept the configuration.
GenerateKeys read_generate_keys(const Config& config);

/// What job generate does, the folder's own defaults filled in.
struct GenerateConfig {
  std::filesystem::path model;  // model.path
  lm::GenerationConfig generation;
  bool has_auto_batch = false;   // generate.batch_size: auto; generation.batch_size is to be found
  std::int64_t num_samples = 1;  // of each prompt
  std::vector<std::string> stops;       // generate.stop
  rows::PromptEncoder::Options prompt;  // without the vocabulary
};

/// Rules between the keys of job generate that need no file.
/// Errors: Failure (exit 78).
void check_generate_keys(const Config& config);

/// Errors: Failure (exit 78) for a key that means nothing with what the folder decides.
GenerateConfig fill_in(const Config& config, const GenerateKeys& keys,
                       const lm::GenerationDefaults& defaults);

/// How tokens are drawn, in words: "sampling, temperature 0.7, top k 50, top p 1 (what is not given
/// is the folder's)".
std::string sampling_text(const GenerateKeys& keys, const GenerateConfig& generate);

/// What the model's folder asks for and this program does not have, such as num_beams; "" where
/// there is nothing to say.
std::string unused_note(const GenerateConfig& config, const lm::GenerationDefaults& folder);

/// What was given and has no effect, since generate.max_new_tokens=0 only scores the prompts; ""
/// where there is nothing to say.
std::string scoring_note(const Config& config);

}  // namespace mgpu::jobs
