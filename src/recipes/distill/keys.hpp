#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/training/distillation.hpp>

namespace mgpu::recipes {

/// Adds the keys distill.*.
void add_distill_keys(KeyTable& table);

/// Returns whether a key distill.* differs from its default.
bool has_distill_keys(const Config& config);

/// The settings of recipe `distill`, which define the teacher and the loss.
struct DistillSettings {
  std::filesystem::path targets;  // results.h5 of job teacher; empty: `model` is used
  std::filesystem::path model;    // folder of a teacher model; empty: `targets` is used
  bool has_bucket = true;         // true: tokens without a stored probability form one extra class
  lm::Distillation how;
  double on_policy = 0.0;        // share of the examples whose completion the student samples
  lm::GenerationConfig drawing;  // how the student samples completions; the stop ids are not set

  /// Returns how many tokens each example reserves for a completion that the student samples; 0:
  /// the student samples no completions.
  std::int64_t completion_room() const { return on_policy > 0.0 ? drawing.max_new_tokens : 0; }
};

/// Checks the keys of recipe `distill`.
/// Errors: one Failure (exit 78) about keys that contradict each other or have no effect.
void check_distill_keys(const Config& config);

/// Reads the keys distill.* and the seed, without the checks of check_distill_keys().
DistillSettings read_distill_settings(const Config& config);

}  // namespace mgpu::recipes
