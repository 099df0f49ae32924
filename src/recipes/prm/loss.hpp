#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/config/step_head.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>

#include "recipes/lm/method.hpp"

namespace mgpu::recipes {

/// The token column with the labels of steps. The label of a step is one position before the token
/// at which the step is judged.
inline constexpr const char* kStepLabelColumn = "step_label";
/// The sequence column with the id of the solution's question, which number_questions() assigns.
inline constexpr const char* kQuestionColumn = "question";
/// The sequence column that contains the largest number of steps of a solution in the data. It has
/// the same value in all sequences.
inline constexpr const char* kMostStepsColumn = "most_steps";

/// The losses of recipe `prm`. The label of a step is y, and s is the sigmoid function. The logit z
/// of a step is lm::StepHead::logit() at the token that lm::StepHead::place selects. For latent
/// states, a step is a node, and z is the output of LatentHead.
enum class PrmLossKind : std::uint8_t {
  bce,       // -y log s(z) - (1 - y) log s(-z)
  mse,       // (s(z) - y)^2
  pairwise,  // -log s(z of the better step - z of the worse step), of two steps of a question
};

/// The settings of recipe `prm`.
struct PrmSettings {
  PrmLossKind kind = PrmLossKind::bce;
  lm::StepHead head{};
  bool learns_values = true;       // true: learn `values` if a row has them; false: learn `labels`
  double threshold = 0.5;          // a step whose value or label is above this counts as right
  bool shuffles_labels = false;    // true: labels are shuffled within each question, as a control
  double held_out = 0.0;           // share of questions that are held out
  std::int64_t latent_hidden = 0;  // hidden units of the head for latent states; 0: half its inputs
  std::uint64_t seed = 0;  // run.seed, for shuffled labels, held-out questions, order of nodes
};

/// Judges the steps of solutions. The head is applied once per step, at the token that
/// lm::StepHead::place selects. The loss of an optimizer step is the mean over the judged steps in
/// the global batch. With pairwise, the loss is the mean over all pairs of judged steps that belong
/// to the same question and have different labels.
///
/// Source: Lightman et al., arXiv 2305.20050 (bce); Wang et al., arXiv 2312.08935, eq. 3.
class PrmLoss final : public lm::SequenceLoss {
public:
  explicit PrmLoss(const PrmSettings& settings) : settings_(settings) {}

  /// Returns descriptions of the numbers that the loss reports for a batch. A number is NaN if it
  /// cannot be computed from the batch, for example an AUC without wrong steps.
  static std::vector<ReportedValue> reported_values();

  lm::ValueRequest request() const override {
    return {.log_probs = false, .head_rows = lm::HeadRows::reached};
  }
  std::vector<double> facts(const lm::MeasuredSequence& sequence) const override;
  std::vector<double> digest(const lm::SequenceTable& all) const override;
  lm::SequenceTerm weigh(const lm::MeasuredSequence& sequence,
                         const lm::SequencePlace& place) const override;
  std::int64_t terms(const lm::SequenceTable& all) const override;

private:
  void weigh_steps(std::span<const double> own, lm::SequenceTerm& term,
                   std::span<double> slopes) const;

  PrmSettings settings_;
};

}  // namespace mgpu::recipes
