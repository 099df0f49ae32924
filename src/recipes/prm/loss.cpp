#include "loss.hpp"

#include <cmath>

#include <mgpu/kernels/cross_entropy.hpp>

#include "recipes/lm/logistic.hpp"
#include "step_loss.hpp"
#include "step_metrics.hpp"

namespace mgpu::recipes {
namespace {

/// Reads SequenceFacts::values of a solution: the id of its question, the number of its steps, the
/// logits of the steps, and the labels of the steps. Logits and labels are each padded with zeros,
/// so that all solutions have the same number of values.
class SolutionFacts {
public:
  explicit SolutionFacts(std::span<const double> values) : values_(values) {}

  double question() const { return values_[0]; }
  std::size_t steps() const { return static_cast<std::size_t>(values_[1]); }
  double logit(std::size_t step) const { return values_[2 + step]; }
  double label(std::size_t step) const { return values_[2 + (values_.size() - 2) / 2 + step]; }

private:
  std::span<const double> values_;
};

std::vector<double> labels_of(const lm::MeasuredSequence& sequence) {
  const std::span<const double> column = sequence.token_column(kStepLabelColumn);
  std::vector<double> labels;
  for (std::size_t i = 0; i < column.size(); ++i)
    if (sequence.targets[i] != kernels::kIgnoreTarget) labels.push_back(column[i]);
  return labels;
}

/// Calls see(i, j) for each pair of a step i of `a` and a step j of `b` in which the label of i is
/// above the label of j.
template <class See>
void for_pairs(const SolutionFacts& a, const SolutionFacts& b, See see) {
  for (std::size_t i = 0; i < a.steps(); ++i)
    for (std::size_t j = 0; j < b.steps(); ++j)
      if (a.label(i) > b.label(j)) see(i, j);
}

/// Adds the losses and derivatives of pairs. A pair has a step of `own` and a step of `other` with
/// different labels. `slopes` gets the derivatives of all pairs with respect to the logits of
/// `own`. `term` gets only the losses of pairs in which the step of `own` is the better one. The
/// term of `other` has the remaining losses.
void add_pairs(const SolutionFacts& own, const SolutionFacts& other, lm::SequenceTerm& term,
               std::span<double> slopes) {
  for_pairs(own, other, [&](std::size_t better, std::size_t worse) {
    const double margin = own.logit(better) - other.logit(worse);
    term.loss += softplus(-margin);
    term.correct += margin > 0.0 ? 1 : 0;
    slopes[better] -= sigmoid(-margin);
  });
  for_pairs(other, own, [&](std::size_t better, std::size_t worse) {
    slopes[worse] += sigmoid(own.logit(worse) - other.logit(better));
  });
}

/// Returns the number of pairs of steps that belong to the same question and have different labels.
std::int64_t count_pairs(const lm::SequenceTable& all) {
  std::int64_t pairs = 0;
  for (const lm::SequenceFacts& a : all.rows())
    for (const lm::SequenceFacts& b : all.rows()) {
      if (a.values[0] != b.values[0]) continue;
      for_pairs(SolutionFacts(a.values), SolutionFacts(b.values),
                [&](std::size_t, std::size_t) { ++pairs; });
    }
  return pairs;
}

}  // namespace

std::vector<ReportedValue> PrmLoss::reported_values() {
  const char* const areas = "Right above wrong steps (AUC)";
  return {{"auc_within", "auc/within_questions", "AUC of steps within a question", "", areas,
           "AUC within questions"},
          {"auc", "auc/pooled", "AUC of all steps", "", areas, "pooled"},
          {"calibration_error", "calibration_error", "calibration error of probabilities", "",
           "Calibration error", "calibration error"}};
}

std::vector<double> PrmLoss::facts(const lm::MeasuredSequence& sequence) const {
  const std::vector<double> labels = labels_of(sequence);
  const auto most = static_cast<std::size_t>(sequence.sequence_column(kMostStepsColumn));
  const auto outputs = static_cast<std::size_t>(settings_.head.outputs);
  std::vector<double> facts(2 + 2 * most, 0.0);
  facts[0] = sequence.sequence_column(kQuestionColumn);
  facts[1] = static_cast<double>(labels.size());
  for (std::size_t step = 0; step < labels.size(); ++step) {
    facts[2 + step] = settings_.head.logit(sequence.head.subspan(step * outputs, outputs).data());
    facts[2 + most + step] = labels[step];
  }
  return facts;
}

std::vector<double> PrmLoss::digest(const lm::SequenceTable& all) const {
  std::vector<JudgedStep> steps;
  for (const lm::SequenceFacts& row : all.rows()) {
    const SolutionFacts solution(row.values);
    for (std::size_t step = 0; step < solution.steps(); ++step)
      steps.push_back({static_cast<std::int64_t>(solution.question()), solution.logit(step),
                       solution.label(step), solution.label(step) > settings_.threshold});
  }
  return {area_within_questions(steps), area_under_curve(steps), calibration_error(steps)};
}

/// Adds the losses of single steps (bce or mse) and the correct predictions to `term`, and sets
/// `slopes` to the derivatives of the losses. `own` contains the facts of the solution.
void PrmLoss::weigh_steps(std::span<const double> own, lm::SequenceTerm& term,
                          std::span<double> slopes) const {
  const SolutionFacts solution(own);
  for (std::size_t step = 0; step < solution.steps(); ++step) {
    const StepLoss loss = step_loss(settings_, solution.logit(step), solution.label(step));
    term.loss += loss.loss;
    slopes[step] = loss.slope;
    term.correct += loss.is_correct ? 1 : 0;
  }
}

lm::SequenceTerm PrmLoss::weigh(const lm::MeasuredSequence& sequence,
                                const lm::SequencePlace& place) const {
  const std::vector<double>& own = place.facts().values;
  const auto outputs = static_cast<std::size_t>(settings_.head.outputs);
  std::vector<double> slopes(sequence.head.size() / outputs, 0.0);
  lm::SequenceTerm term;
  if (settings_.kind != PrmLossKind::pairwise) weigh_steps(own, term, slopes);
  if (settings_.kind == PrmLossKind::pairwise)
    for (const lm::SequenceFacts& other : place.all.rows())
      if (other.values[0] == own[0])
        add_pairs(SolutionFacts(own), SolutionFacts(other.values), term, slopes);
  for (const double slope : slopes) {
    if (outputs == 2) term.head.push_back(-slope);
    term.head.push_back(slope);
  }
  return term;
}

std::int64_t PrmLoss::terms(const lm::SequenceTable& all) const {
  return settings_.kind == PrmLossKind::pairwise ? count_pairs(all) : all.predictions();
}

}  // namespace mgpu::recipes
