#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "loss.hpp"
#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// Trains a value model, which predicts the return (label) of a completion after each of its
/// tokens. With value.lm_weight=0, the value head replaces the vocabulary head. Checkpoints are
/// model folders that transformers loads as a ForTokenClassification model.
class ValueMethod final : public LmMethod {
public:
  explicit ValueMethod(const ValueSettings& settings) : settings_(settings), loss_(settings) {}

  input::RowOptions row_options(input::RowOptions options) const override;

  /// Adds the examples of a row to `examples`. With ValueSettings::has_pairs, these are the two
  /// completions of a preference. Otherwise the row has a completion and its `label`. If the row
  /// has the member `cut`, the loss leaves out the first `cut` of the learned tokens of each
  /// example.
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  std::string complete(std::int64_t seq_len, RowUse use, lm::LmExamples& examples) const override;

  std::int64_t group_size() const override { return settings_.compares_pairs() ? 2 : 1; }
  bool takes_token_ids() const override { return true; }

  /// Checks that a value model in `folder` has the head that the keys value.* describe.
  /// Errors: Failure E107 (exit 78); those of lm::read_value_head().
  void check_start(const Config& config, const std::filesystem::path& folder) const override;

  const lm::TokenLoss& loss() const override { return loss_; }
  std::optional<lm::ModelHead> head(const lm::LmConfig& model) const override;
  lm::CompanionFiles model_files(const std::filesystem::path& folder) const override;
  LossMeaning loss_meaning() const override;
  std::string accuracy() const override;
  std::string accuracy_scalar() const override { return "values/accuracy"; }
  std::vector<ReportedValue> reported_values() const override {
    return ValueLoss::reported_values(settings_);
  }

private:
  double label_of(const formats::JsonValue& row) const;

  ValueSettings settings_;
  ValueLoss loss_;
};

}  // namespace mgpu::recipes
