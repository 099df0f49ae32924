#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/lm/training/sequence_loss.hpp>

#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// The losses of a judged completion. The log-ratio r is the log-probability of the completion
/// under the trained model minus that under the reference. The estimate of KL(trained model ||
/// reference) is z. The sigmoid function is s, and b is KtoSettings::beta. The first formula is for
/// a good completion, and the second for a bad one.
enum class KtoKind : std::uint8_t {
  kto,                // 1 - s(b (r - z)), or 1 - s(b (z - r)); Ethayarajh et al., arXiv 2402.01306
  apo_zero_unpaired,  // 1 - s(b r), or s(b r); D'Oosterlinck et al., arXiv 2408.06266
};

/// The settings of recipe `kto`.
struct KtoSettings {
  KtoKind kind = KtoKind::kto;
  double beta = 0.1;                // a larger value keeps the model closer to the reference
  double desirable_weight = 1.0;    // factor of the losses of good completions
  double undesirable_weight = 1.0;  // factor of the losses of bad completions

  /// Returns whether the loss needs the estimate z of the KL divergence.
  bool has_kl() const { return kind == KtoKind::kto; }
};

/// The sequence column that is 1 for a good completion, and 0 for a bad one.
inline constexpr const char* kLabelColumn = "label";

/// The loss of a completion, and the derivative of the loss with respect to the log-ratio.
struct JudgedLoss {
  double loss = 0.0;
  double slope = 0.0;
};

/// Returns the weighted loss of a completion. `kl` is the estimate z of the KL divergence; it must
/// be 0 if has_kl() is false.
JudgedLoss loss_of_judged(const KtoSettings& settings, bool is_good, double log_ratio, double kl);

/// Kahneman-Tversky optimization. If KtoSettings::has_kl() is true, the sequences are groups of
/// two: the prompt of a row with its own completion, and the same prompt with the completion of
/// another row. The estimate z is the mean log-ratio of all second sequences of the global batch,
/// but at least 0. The estimate has no gradient. If has_kl() is false, each sequence is a separate
/// group. Sequence column kReferenceColumn has the log-probabilities under the reference, and
/// kLabelColumn has the label of each sequence.
///
/// The loss is the mean over the rows of the global batch. The function digest() returns the
/// values that reported_values() describes.
class KtoLoss final : public lm::SequenceLoss {
public:
  explicit KtoLoss(const KtoSettings& settings) : settings_(settings) {}

  /// Returns descriptions of the numbers that the loss reports for a batch. If a batch has no good
  /// completions, the means over good completions are NaN. The same holds for bad completions.
  static std::vector<ReportedValue> reported_values();

  std::vector<double> facts(const lm::MeasuredSequence& sequence) const override;
  std::vector<double> digest(const lm::SequenceTable& all) const override;
  lm::SequenceTerm weigh(const lm::MeasuredSequence& sequence,
                         const lm::SequencePlace& place) const override;
  std::int64_t terms(const lm::SequenceTable& all) const override {
    return static_cast<std::int64_t>(all.num_groups());
  }

private:
  KtoSettings settings_;
};

}  // namespace mgpu::recipes
