#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "loss.hpp"
#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// Kahneman-Tversky optimization: a model learns from single completions that are labeled good or
/// bad. The reference is the model before the training.
class KtoMethod final : public LmMethod {
public:
  explicit KtoMethod(const KtoSettings& settings) : settings_(settings), loss_(settings) {}

  input::RowOptions row_options(input::RowOptions options) const override;

  /// Adds one example to `examples`, with its label in column kLabelColumn.
  /// Errors: those of ExampleEncoder::add_judged(); JsonError if `label` is missing, or is none of
  ///         true, false, 1, 0, and the texts "true", "True", "1", "false", "False" and "0".
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  std::int64_t examples_of_row() const override { return 1; }

  /// If KtoSettings::has_kl() is true, inserts a second example after each example. The second
  /// example has the same prompt and the completion of the previous row. For the first row, this is
  /// the completion of the last row. Completions are cut so that no example has more than `seq_len`
  /// tokens.
  /// Errors: Failure E531 (exit 65) if has_kl() is true and there is only one example.
  std::string complete(std::int64_t seq_len, RowUse use, lm::LmExamples& examples) const override;

  std::int64_t group_size() const override { return settings_.has_kl() ? 2 : 1; }
  bool needs_reference() const override { return true; }
  const lm::TokenLoss& loss() const override { return loss_; }
  std::vector<ReportedValue> reported_values() const override { return KtoLoss::reported_values(); }
  LossMeaning loss_meaning() const override;
  std::string accuracy() const override { return "label accuracy"; }
  std::string accuracy_scalar() const override { return "label_accuracy"; }

private:
  KtoSettings settings_;
  KtoLoss loss_;
};

}  // namespace mgpu::recipes
