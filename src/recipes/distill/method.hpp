#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "keys.hpp"
#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// Distillation: a student learns the distributions of a teacher. The teacher is a model that each
/// rank holds completely, or its stored targets, which have the examples, too. With
/// distill.on_policy the student samples completions of prompts.
class DistillMethod final : public LmMethod {
public:
  explicit DistillMethod(DistillSettings settings) : settings_(std::move(settings)) {}

  /// With distill.on_policy, rows of training need a prompt.
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  std::int64_t completion_room() const override { return settings_.completion_room(); }
  std::string source() const override { return settings_.targets.string(); }
  bool needs_tokenizer() const override { return !has_targets(); }

  /// Refuses a teacher whose tokens differ from the student's. For a folder, vocabulary and
  /// tokenizer.json must agree. For stored targets, the vocabulary must agree, and StoredTargets
  /// must accept them.
  ///
  /// Errors: ConfigFailure E107 (exit 78); Failure E603 (exit 66), those of read_lm_config() and
  ///         StoredTargets.
  void check_files(const Config& config, const std::filesystem::path& folder) const override;

  /// Reads the examples of stored targets and checks all targets, or the teacher's folder.
  /// Errors: those of StoredTargets.
  MethodData read(std::int64_t seq_len) const override;

  std::optional<TrainTask::DataPlace> data_place() const override;

  /// Errors: those of StoredTargets and ModelGroup::open(), on all ranks.
  std::unique_ptr<OpenMethod> open(const run::RunContext& run, LmData& data) const override;

  MethodCosts costs() const override;
  std::string banner() const override;

private:
  bool has_targets() const { return !settings_.targets.empty(); }
  bool samples() const { return settings_.on_policy > 0.0; }
  MethodData read_targets(std::int64_t seq_len) const;

  DistillSettings settings_;
};

}  // namespace mgpu::recipes
