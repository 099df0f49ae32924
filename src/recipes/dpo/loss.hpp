#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <mgpu/lm/training/sequence_loss.hpp>

#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// The losses of a pair. c and r are the log-ratios of the chosen and the rejected completion. The
/// log-ratio of a completion is its log-probability under the trained model minus that under the
/// reference. Where c or r is divided by `tokens`, this is the number of tokens of the same
/// completion. The function s is the sigmoid, and b is DpoSettings::beta.
enum class DpoKind : std::uint8_t {
  sigmoid,       // -log s(b (c - r)); Rafailov et al., arXiv 2305.18290
  ipo,           // (c / tokens - r / tokens - 1 / (2 b))^2; Azar et al., arXiv 2310.12036
  hinge,         // max(0, 1 - b (c - r)); Zhao et al., arXiv 2305.10425
  robust,        // sigmoid, corrected for a known share of wrong labels; arXiv 2403.00409
  apo_zero,      // 1 - s(b c) + s(b r); D'Oosterlinck et al., arXiv 2408.06266
  sigmoid_norm,  // -log s(b (c / tokens - r / tokens))
};

/// The settings of recipe `dpo`.
struct DpoSettings {
  DpoKind kind = DpoKind::sigmoid;
  double beta = 0.1;                  // a larger value keeps the model closer to the reference
  double label_smoothing = 0.0;       // robust only: share of pairs in the wrong order, below 0.5
  double sft_weight = 0.0;            // weight of the cross-entropy of the chosen completions
  std::filesystem::path reference{};  // folder of the reference; "": the model before the training
};

/// The log-ratios (model to reference) of the two completions of a pair, and their numbers of
/// tokens.
struct PairRatios {
  double chosen = 0.0;
  double rejected = 0.0;
  std::int64_t chosen_tokens = 1;
  std::int64_t rejected_tokens = 1;
};

/// The loss of a pair, and its derivatives with respect to both log-ratios.
struct PairLoss {
  double loss = 0.0;
  double chosen = 0.0;
  double rejected = 0.0;
};

/// Returns the loss of a pair without the cross-entropy term, whose weight is
/// DpoSettings::sft_weight.
PairLoss loss_of_pair(const DpoSettings& settings, const PairRatios& pair);

/// Preference optimization. The sequences are groups of two: the chosen completion, then the
/// rejected one. Sequence column kReferenceColumn has the log-probability of each completion under
/// the reference model.
///
/// The loss is the mean over the pairs of the global batch, plus sft_weight times the mean
/// cross-entropy of all tokens of chosen completions. Function digest() returns the values that
/// reported_values() describes, and then the number of tokens of chosen completions.
class DpoLoss final : public lm::SequenceLoss {
public:
  explicit DpoLoss(const DpoSettings& settings) : settings_(settings) {}

  /// Returns descriptions of the numbers that the loss reports for a batch.
  static std::vector<ReportedValue> reported_values();

  std::vector<double> facts(const lm::MeasuredSequence& sequence) const override;
  std::vector<double> digest(const lm::SequenceTable& all) const override;
  lm::SequenceTerm weigh(const lm::MeasuredSequence& sequence,
                         const lm::SequencePlace& place) const override;
  std::int64_t terms(const lm::SequenceTable& all) const override {
    return static_cast<std::int64_t>(all.num_groups());
  }

private:
  DpoSettings settings_;
};

}  // namespace mgpu::recipes
