#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/rows/prompt_encoder.hpp>

namespace mgpu::jobs {

/// Adds the keys generate.*.
void add_generate_keys(KeyTable& table);

/// The settings of job generate, completed by the defaults of the model's folder.
struct GenerateConfig {
  std::filesystem::path model;  // model.path
  lm::GenerationConfig generation;
  bool has_auto_batch = false;          // generate.batch_size=auto: the run finds the batch
  std::int64_t num_samples = 1;         // for each prompt
  std::vector<std::string> stops;       // generate.stop
  rows::PromptEncoder::Options prompt;  // without the vocabulary
};

/// Checks the rules between keys of job generate that need no file.
/// Errors: Failure (exit 78).
void check_generate_keys(const Config& config);

/// Errors: Failure (exit 78) for a key that has no effect with the settings of the folder.
GenerateConfig read_generate_config(const Config& config, const lm::GenerationDefaults& defaults);

/// How tokens are sampled, in words: "sampling, temperature 0.7, top k 50, top p 1 (what is not
/// given is the folder's)".
std::string sampling_text(const Config& config, const GenerateConfig& generate);

/// Options of the model's folder that this program does not support, such as num_beams; "" if all
/// are supported.
std::string unused_note(const GenerateConfig& config, const lm::GenerationDefaults& folder);

/// Given keys that have no effect, since generate.max_new_tokens=0 only scores the prompts; "" if
/// all have an effect.
std::string scoring_note(const Config& config);

}  // namespace mgpu::jobs
