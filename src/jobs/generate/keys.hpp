#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/rewards/registry.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/run/chunk_keys.hpp>

#include "guide.hpp"
#include "search.hpp"

namespace mgpu::jobs {

/// Adds the keys generate.*, including generate.guide.*.
void add_generate_keys(KeyTable& table);

/// The treatment of prompts that are longer than the model's context.
enum class BeyondContext {
  warn,  // they are completed, and the run warns once
  mark,  // they get RowStatus::too_long and no completion
  stop,  // the run fails with E531 before any work
};

/// The values of the keys of job generate. A sampling parameter that is nullopt has the value in
/// the model's generation_config.json, or a default of this program if that file lacks it. The
/// comments on the members name the exceptions.
struct GenerateKeys {
  run::JobKeys run;
  rows::ModelRowKeys rows;
  rewards::RewardSettings rewards;   // reward.*
  std::optional<GuideKeys> guide;    // generate.guide.*; nullopt: no guide
  std::optional<SearchKeys> search;  // generate.search; nullopt: no completion is chosen
  std::int64_t max_new_tokens = 0;
  std::int64_t num_samples = 1;
  BeyondContext beyond_context = BeyondContext::warn;
  /// True with generate.roll_in=random: the completion in each row is cut at a random token, and
  /// the model continues the part before the cut.
  bool rolls_in = false;
  bool first_greedy = false;  // generate.first_greedy: completion 0 of a prompt is greedy
  bool export_ties = false;   // generate.export_ties: export_pairs() keeps pairs with equal returns
  std::optional<bool> do_sample;  // nullopt: true if asks_for_draws(), else the folder's value
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> repetition_penalty;
  std::vector<std::string> stops;  // generate.stop
  bool prompt_log_probs = true;
  bool add_special_tokens = true;
  std::optional<bool> add_generation_prompt;  // nullopt: true unless prompts are only scored
  std::optional<std::int64_t> batch_size;     // nullopt: the run chooses it
  lm::CacheType cache_type = lm::CacheType::f32;
  std::filesystem::path reference;  // generate.reference; empty: no KL is computed

  /// Returns whether KL(model || reference) is computed for each token.
  bool has_reference() const { return !reference.empty(); }

  /// Returns whether the KL divergence of each token is recorded, which needs a reference or a
  /// guide. CompletedPrompt::divergences defines this divergence.
  bool has_divergence() const { return has_reference() || guide; }

  /// Returns whether key `name` differs from its default. `name` must be a key that affects how
  /// tokens are sampled or scored.
  bool is_changed(std::string_view name) const;

  /// Returns the names of the changed keys that have an effect only if tokens are sampled, such as
  /// "generate.temperature, generate.num_samples".
  std::string draw_keys() const;

  /// Returns whether a changed key implies sampling. The result matters only if generate.do_sample
  /// is auto.
  bool asks_for_draws() const { return !draw_keys().empty(); }

  /// Returns whether at least one sampling parameter is not given, and so may come from the model's
  /// folder.
  bool has_folder_values() const {
    return !do_sample || !temperature || !top_k || !top_p || !repetition_penalty;
  }
};

/// Reads the keys of a configuration that check_generate_keys() accepts.
GenerateKeys read_generate_keys(const Config& config);

/// The settings of job generate, completed with the defaults of the model's folder.
struct GenerateConfig {
  std::filesystem::path model;  // model.path
  lm::GenerationConfig generation;
  bool has_auto_batch = false;          // generate.batch_size=auto: the run chooses the batch size
  std::int64_t num_samples = 1;         // rows of each prompt, one per completion; 1 for scoring
  bool first_greedy = false;            // completion 0 of a prompt is greedy, the others are drawn
  std::vector<std::string> stops;       // generate.stop
  rows::PromptEncoder::Options prompt;  // how prompts are encoded; `vocab` is not set
};

/// Checks the rules between keys of job generate. It reads no file.
/// Errors: Failure (exit 78) if a rule is broken.
void check_generate_keys(const Config& config);

/// Returns the settings `keys`, completed with the defaults of the model's folder. If
/// generate.do_sample is auto, tokens are sampled if draw_keys() is not empty, or if the folder's
/// default is to sample.
GenerateConfig fill_in(const GenerateKeys& keys, const lm::GenerationDefaults& defaults);

/// Describes for the banner how tokens are sampled: "sampling, temperature 0.7, top k 50, top p 1
/// (what is not given is the folder's)".
std::string sampling_text(const GenerateKeys& keys, const GenerateConfig& generate);

/// Returns a note with the options of the model's generation_config.json, such as num_beams, that
/// would affect the completions but that this program does not support. Returns "" without such
/// options.
std::string unused_note(const GenerateConfig& config, const lm::GenerationDefaults& folder);

/// Returns a note with the given keys that have no effect, because generate.max_new_tokens=0 only
/// scores the prompts. Returns "" if all keys have an effect.
std::string scoring_note(const Config& config, const GenerateKeys& keys);

}  // namespace mgpu::jobs
