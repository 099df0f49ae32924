#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/lm/training/sequence_loss.hpp>

#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// The settings of recipe `reward`.
struct RewardModelSettings {
  double center_weight = 0.0;  // weight of (c + r)^2 for the rewards c and r of a pair
};

/// The sequence column with the margin by which the chosen reward of a pair should exceed the
/// rejected one. Both sequences of a pair have the same value.
inline constexpr const char* kMarginColumn = "margin";

/// The loss of a reward model. The sequences are groups of two: the chosen completion, then the
/// rejected one. The reward of a sequence is the output of the model's head at the last token.
///
/// The loss of a pair with rewards c and r and margin m is
///
///     -log sigmoid(c - r - m) + center_weight (c + r)^2,
///
/// and the loss of a step is the mean over the pairs of its global batch. The function
/// digest() returns the values that reported_values() describes.
///
/// Source: Ouyang et al., arXiv 2203.02155, eq. 1; margin: Touvron et al., arXiv 2307.09288, eq. 2;
///         center_weight: Eisenstein et al., arXiv 2312.09244, eq. 2.
class RewardModelLoss final : public lm::SequenceLoss {
public:
  explicit RewardModelLoss(const RewardModelSettings& settings) : settings_(settings) {}

  /// Returns descriptions of the numbers that the loss reports for a batch.
  static std::vector<ReportedValue> reported_values();

  lm::ValueRequest request() const override {
    return {.log_probs = false, .head_rows = lm::HeadRows::last};
  }
  std::vector<double> facts(const lm::MeasuredSequence& sequence) const override;
  std::vector<double> digest(const lm::SequenceTable& all) const override;
  lm::SequenceTerm weigh(const lm::MeasuredSequence& sequence,
                         const lm::SequencePlace& place) const override;
  std::int64_t terms(const lm::SequenceTable& all) const override {
    return static_cast<std::int64_t>(all.num_groups());
  }

private:
  RewardModelSettings settings_;
};

}  // namespace mgpu::recipes
