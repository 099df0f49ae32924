#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/decode/value_guide.hpp>

namespace mgpu::jobs {

/// The values of the keys generate.guide.*.
struct GuideKeys {
  std::filesystem::path folder;  // folder of the value model
  lm::GuideSettings settings;
};

/// Adds the keys generate.guide.*.
void add_guide_keys(KeyTable& table);

/// Checks the rules between the keys generate.guide.*. It reads no file.
/// Errors: Failure E107 or E124 (exit 78).
void check_guide_keys(const Config& config);

/// Returns the values of the keys generate.guide.*; nullopt if generate.guide.path is null.
std::optional<GuideKeys> read_guide_keys(const Config& config);

/// Checks that the guide's folder has a value model that fits the settings, and that this model has
/// the tokenizer of the model in folder `model`. If `needs_weights`, the guide's folder must have
/// weights, which are not read.
///
/// Errors: those of rows::check_model_folder() (Failure E603, exit 66) and
///         lm::require_value_head(); E107 (exit 78) for a head that does not fit the algorithm;
///         those of check_same_tokens().
void check_guide_files(const Config& config, const GuideKeys& keys,
                       const std::filesystem::path& model, bool needs_weights);

/// The largest lengths, in tokens.
struct CompletionLengths {
  std::int64_t longest_prompt = 0;
  std::int64_t max_new_tokens = 0;  // of a completion
};

/// Checks that a guide with learned positions has enough positions for the longest prompt and its
/// completion.
/// Errors: Failure E107 (exit 78).
void check_guide_positions(const Config& config, const lm::LmConfig& guide,
                           const lm::LmConfig& model, const CompletionLengths& lengths);

/// Describes the guide for the banner: "guided by FOLDER: qsharp, eta 0.5, the 20 most probable
/// tokens".
std::string guide_text(const GuideKeys& keys);

}  // namespace mgpu::jobs
