#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "loss.hpp"
#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// Direct preference optimization: a model learns which of two completions of a prompt is
/// preferred. The reference is the model before the training, or the model of
/// DpoSettings::reference.
class DpoMethod final : public LmMethod {
public:
  explicit DpoMethod(const DpoSettings& settings) : settings_(settings), loss_(settings) {}

  input::RowOptions row_options(input::RowOptions options) const override;

  /// Adds two examples to `examples`, the chosen and the rejected completion.
  /// Errors: those of ExampleEncoder::add_pair().
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  /// Checks that the reference has the same tokenizer as the trained model, and that its vocabulary
  /// is large enough for that tokenizer.
  /// Errors: Failure E603 (exit 66) for a missing file, E107 (exit 78) for a reference that fails
  ///         these checks, and errors of reading the folders.
  void check_files(const Config& config, const std::filesystem::path& folder) const override;
  void check_weights(const Config& config) const override;

  /// With dpo.reference, returns a checksum of the reference model, and the note of lm::head_note()
  /// if the stored head differs from the embedding. A run can only be resumed with the same
  /// reference model.
  MethodData read(std::int64_t seq_len, std::int64_t vocab) const override;
  std::filesystem::path reference_folder() const override { return settings_.reference; }

  std::int64_t group_size() const override { return 2; }
  bool needs_reference() const override { return true; }
  const lm::TokenLoss& loss() const override { return loss_; }
  std::vector<ReportedValue> reported_values() const override { return DpoLoss::reported_values(); }
  LossMeaning loss_meaning() const override;
  std::string accuracy() const override { return "pair accuracy"; }
  std::string accuracy_scalar() const override { return "rewards/accuracies"; }

private:
  DpoSettings settings_;
  DpoLoss loss_;
};

}  // namespace mgpu::recipes
