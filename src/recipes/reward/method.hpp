#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "loss.hpp"
#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// Trains a reward model on pairs of completions. A reward model is a language model whose head has
/// a single output instead of one per vocabulary token. The Python library transformers loads the
/// checkpoints as a ForSequenceClassification model.
///
/// transformers takes the output at the last token that is not `pad_token_id` of config.json. To
/// compute the same rewards, this class leaves out padding tokens at the end of an example. If the
/// tokenizer has no padding token, its eos token counts as the padding token, as in TRL.
class RewardMethod final : public LmMethod {
public:
  explicit RewardMethod(const RewardModelSettings& settings)
      : settings_(settings), loss_(settings) {}

  input::RowOptions row_options(input::RowOptions options) const override;

  /// Adds two examples to `examples`, the chosen and the rejected completion, with the margin of
  /// the row in column kMarginColumn.
  /// Errors: those of ExampleEncoder::add_pair(); JsonError if the two examples are equal when
  ///         padding tokens are left out, or if `margin` is no number.
  void encode(const formats::JsonValue& row, RowUse use, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override;

  std::int64_t group_size() const override { return 2; }

  /// Refuses a model of a family whose ForSequenceClassification is not supported.
  /// Errors: Failure E107 (exit 78); those of lm::read_lm_config().
  void check_files(const Config& config, const std::filesystem::path& folder) const override;

  const lm::TokenLoss& loss() const override { return loss_; }
  std::optional<lm::ModelHead> head(const lm::LmConfig& model) const override;
  lm::CompanionFiles model_files(const std::filesystem::path& folder) const override;
  std::vector<ReportedValue> reported_values() const override {
    return RewardModelLoss::reported_values();
  }
  LossMeaning loss_meaning() const override;
  std::string accuracy() const override { return "pair accuracy"; }
  std::string accuracy_scalar() const override { return "accuracy"; }

private:
  RewardModelSettings settings_;
  RewardModelLoss loss_;
};

}  // namespace mgpu::recipes
