#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/training/distillation.hpp>

namespace mgpu::recipes {

/// The keys distill.*.
void add_distill_keys(KeyTable& table);

/// Whether a key distill.* has another value than its default.
bool has_distill_keys(const Config& config);

/// What a student learns from.
struct DistillSettings {
  std::filesystem::path targets;  // results.h5 of job teacher; empty: `model` says them
  std::filesystem::path model;    // folder of a teacher beside the student; empty: `targets`
  bool has_bucket = true;         // top k: all other tokens are one more class
  lm::Distillation how;
  double on_policy = 0.0;        // share of completions that the student draws itself
  lm::GenerationConfig drawing;  // of them; stop ids are the folder's

  /// Tokens that each example has to have room for, beside its own; 0: none.
  std::int64_t completion_room() const { return on_policy > 0.0 ? drawing.max_new_tokens : 0; }
};

/// Nothing where no teacher is named.
/// Errors: Failures (exit 78) of keys that contradict each other or mean nothing here, as one.
std::optional<DistillSettings> read_distill_settings(const Config& config);

}  // namespace mgpu::recipes
