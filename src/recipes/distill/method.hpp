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

/// Distillation: a student learns the next-token distributions of a teacher. The teacher is a
/// model, with a complete copy on each rank, or a file of stored targets, which also contains the
/// examples. With distill.on_policy above 0, the student samples some completions itself.
class DistillMethod final : public LmMethod {
public:
  explicit DistillMethod(DistillSettings settings) : settings_(std::move(settings)) {}

  /// Adds the examples of a row to `examples`. With distill.on_policy above 0, a row for training
  /// must have a prompt.
  /// Errors: those of LmMethod::encode(); JsonError for a row for training that has no prompt, if
  ///         distill.on_policy is above 0.
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  std::int64_t completion_room() const override { return settings_.completion_room(); }
  std::string source() const override { return settings_.targets.string(); }
  bool needs_tokenizer() const override { return !has_targets(); }

  /// Refuses a teacher whose tokens differ from the student's. A teacher model must have the same
  /// tokenizer.json or tokenizer.model, and stored targets must fit the loss. The vocabularies may
  /// end with different numbers of unused ids. But if the student samples completions, its
  /// vocabulary must not be larger than the teacher's. The function read() checks the ids of stored
  /// targets.
  ///
  /// Errors: Failure E107 (exit 78) for a teacher that does not fit, E603 (exit 66) for a missing
  ///         file; those of StoredTargets and of reading the folders of both models.
  void check_files(const Config& config, const std::filesystem::path& folder) const override;
  void check_weights(const Config& config) const override;

  /// With stored targets, reads the examples of the file, verifies the checksums of its columns,
  /// and calls StoredTargets::require_ids_below(). With a teacher model, returns a checksum
  /// of the model, and the note of lm::head_note() if the stored head differs from the embedding.
  /// Errors: with stored targets, those of StoredTargets; with a teacher model, those of
  ///         lm::read_lm_config() and WeightFiles.
  MethodData read(std::int64_t seq_len, std::int64_t vocab) const override;

  std::optional<TrainTask::DataPlace> data_place() const override;

  /// Opens the teacher.
  /// Ranks:  collective over the world.
  /// Errors: those of the constructor of LmTeacher.
  std::unique_ptr<OpenMethod> open(const run::RunContext& run, LmData& data) const override;

  MethodCosts costs() const override;
  std::string banner() const override;
  LossMeaning loss_meaning() const override;

private:
  bool has_targets() const { return !settings_.targets.empty(); }
  bool samples() const { return settings_.on_policy > 0.0; }
  MethodData read_targets(std::int64_t seq_len, std::int64_t vocab) const;

  DistillSettings settings_;
};

}  // namespace mgpu::recipes
