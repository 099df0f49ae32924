#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "loss.hpp"
#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// Trains a process reward model, which judges the steps of solutions. The head of this model
/// replaces the vocabulary head. Checkpoints are model folders that transformers loads as a
/// ForTokenClassification model.
///
/// A row is a solution, from a result file of job collect, or from a file whose rows have `prompt`,
/// `completions` and `labels`. In a result file, each solution names its question. In other files,
/// rows with equal prompts are solutions of the same question.
class PrmMethod final : public LmMethod {
public:
  explicit PrmMethod(const PrmSettings& settings) : settings_(settings), loss_(settings) {}

  input::RowOptions row_options(input::RowOptions options) const override;

  /// Opens a result file of job collect. Returns nullptr for other files.
  std::shared_ptr<const input::GeneratedRows> open_file(
      const std::filesystem::path& path) const override;

  /// Adds one example: the prompt with all steps. The learned tokens are those at which the steps
  /// are judged (see lm::StepHead::place).
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  /// Changes the examples in this order:
  ///
  /// - If prm.held_out is above 0, divides the questions at random. Training keeps the questions
  ///   that are not held out. The evaluation keeps the held-out questions.
  /// - Numbers the questions.
  /// - With prm.shuffle_labels, permutes the labels of the steps of each question.
  /// - With prm.loss=pairwise, makes groups of two solutions of the same question from the training
  ///   rows.
  ///
  /// Errors: Failure E531 (exit 65) if no question is left, or if pairwise training has no question
  ///         with two solutions whose steps have different labels.
  std::string complete(std::int64_t seq_len, RowUse use, lm::LmExamples& examples) const override;

  std::int64_t group_size() const override {
    return settings_.kind == PrmLossKind::pairwise ? 2 : 1;
  }
  std::int64_t examples_of_row() const override { return 1; }
  double held_out_share() const override { return settings_.held_out; }
  bool takes_token_ids() const override { return true; }

  /// Checks that a process reward model in the folder of model.path fits prm.head and the rows.
  /// Errors: Failure E107 (exit 78) if the model has another number of outputs than prm.head, or
  ///         judges steps at another token than the rows need; errors of reading the folder.
  void check_start(const Config& config, const std::filesystem::path& folder) const override;

  const lm::TokenLoss& loss() const override { return loss_; }
  std::optional<lm::ModelHead> head(const lm::LmConfig& model) const override;
  lm::CompanionFiles model_files(const std::filesystem::path& folder) const override;
  LossMeaning loss_meaning() const override;
  std::string accuracy() const override;
  std::string accuracy_scalar() const override { return "accuracy"; }
  std::vector<ReportedValue> reported_values() const override { return PrmLoss::reported_values(); }

private:
  PrmSettings settings_;
  PrmLoss loss_;
};

}  // namespace mgpu::recipes
