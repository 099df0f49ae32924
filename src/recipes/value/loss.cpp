#include "loss.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "recipes/lm/logistic.hpp"

namespace mgpu::recipes {
namespace {

// The constants kMeanValue and kReturn are indices in the result of ValueLoss::facts().
constexpr std::size_t kMeanValue = 0;  // mean value over the learned tokens
constexpr std::size_t kReturn = 1;

/// Returns -log p of the histogram's atom nearest to `label`, in nats. Writes the derivatives with
/// respect to `outputs` to `slopes`.
double loss_of_histogram(const lm::ValueHead& head, double label, std::span<const double> outputs,
                         std::span<double> slopes) {
  const auto target = static_cast<std::size_t>(head.nearest_atom(label));
  const double most = *std::ranges::max_element(outputs);
  double mass = 0.0;
  for (const double output : outputs)
    mass += std::exp(output - most);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    slopes[i] = std::exp(outputs[i] - most) / mass - (i == target ? 1.0 : 0.0);
  return most + std::log(mass) - outputs[target];
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

double loss_of_token(const ValueSettings& settings, double label, std::span<const double> outputs,
                     std::span<double> slopes) {
  const double z = outputs[0];
  if (settings.kind == ValueLossKind::mle)
    return loss_of_histogram(settings.head, label, outputs, slopes);
  if (settings.kind == ValueLossKind::bce) {
    slopes[0] = sigmoid(z) - label;
    return softplus(z) - label * z;
  }
  const bool is_logit = settings.head.kind == lm::ValueKind::bernoulli;
  const double error = (is_logit ? sigmoid(z) : z) - label;
  slopes[0] = 2.0 * error * (is_logit ? sigmoid(z) * sigmoid(-z) : 1.0);
  return error * error;
}

std::vector<ReportedValue> ValueLoss::reported_values(const ValueSettings& settings) {
  const char* const values = "Values";
  if (settings.compares_pairs())
    return {{"chosen_value", "values/chosen", "mean value of chosen completions", "", values},
            {"rejected_value", "values/rejected", "mean value of rejected completions", "", values},
            {"value_margin", "values/margins", "mean of chosen minus rejected value", "", values}};
  return {{"mean_value", "values/mean", "mean of the expected returns", "", values},
          {"mean_return", "values/return", "mean of the returns that are learned", "", values},
          {"value_error", "values/error",
           "mean distance of a sequence's mean value from its return", "", values}};
}

lm::ValueRequest ValueLoss::request() const {
  return {.log_probs = settings_.lm_weight > 0.0, .head_rows = lm::HeadRows::reached};
}

/// Returns one value for each learned token: the head's output if the loss is bradley_terry, and
/// otherwise the expected return.
std::vector<double> ValueLoss::values_of(const lm::MeasuredSequence& sequence) const {
  std::vector<double> values;
  for (std::size_t i = 0; i < sequence.head.size(); i += outputs()) {
    const auto of_token = sequence.head.subspan(i, outputs());
    values.push_back(settings_.compares_pairs() ? of_token[0]
                                                : lm::expected_return(settings_.head, of_token));
  }
  return values;
}

std::vector<double> ValueLoss::facts(const lm::MeasuredSequence& sequence) const {
  return {mean_of(values_of(sequence)), sequence.sequence_column(kReturnColumn)};
}

std::vector<double> ValueLoss::digest(const lm::SequenceTable& all) const {
  std::vector<double> digest(3, 0.0);
  if (settings_.compares_pairs()) {
    const auto pairs = static_cast<double>(all.num_groups());
    for (std::size_t group = 0; group < all.num_groups(); ++group) {
      const auto pair = all.group(group);
      digest[0] += pair[0].values[kMeanValue] / pairs;
      digest[1] += pair[1].values[kMeanValue] / pairs;
      digest[2] += (pair[0].values[kMeanValue] - pair[1].values[kMeanValue]) / pairs;
    }
    return digest;
  }
  const auto sequences = static_cast<double>(all.rows().size());
  for (const lm::SequenceFacts& row : all.rows()) {
    digest[0] += row.values[kMeanValue] / sequences;
    digest[1] += row.values[kReturn] / sequences;
    digest[2] += std::abs(row.values[kMeanValue] - row.values[kReturn]) / sequences;
  }
  return digest;
}

void ValueLoss::weigh_tokens(const lm::MeasuredSequence& sequence, lm::SequenceTerm& term) const {
  const double label = sequence.sequence_column(kReturnColumn);
  const auto learned = static_cast<double>(sequence.head.size() / outputs());
  term.head.resize(sequence.head.size());
  for (std::size_t i = 0; i < sequence.head.size(); i += outputs()) {
    const auto slopes = std::span(term.head).subspan(i, outputs());
    term.loss +=
        loss_of_token(settings_, label, sequence.head.subspan(i, outputs()), slopes) / learned;
    for (double& slope : slopes)
      slope /= learned;
  }
  const double middle = (settings_.head.lowest + settings_.head.highest) / 2.0;
  const double last =
      lm::expected_return(settings_.head, sequence.head.subspan(sequence.head.size() - outputs()));
  term.correct = (last > middle) == (label > middle) ? 1 : 0;
}

void ValueLoss::weigh_pair(const lm::SequencePlace& place, lm::SequenceTerm& term,
                           std::size_t learned) const {
  const auto pair = place.group();
  const double margin = pair[0].values[kMeanValue] - pair[1].values[kMeanValue];
  const bool is_chosen = place.member() == 0;
  const double slope = (is_chosen ? -1.0 : 1.0) * sigmoid(-margin);
  term.head.assign(learned, slope / static_cast<double>(learned));
  if (!is_chosen) return;
  term.loss = softplus(-margin);
  term.correct = margin > 0.0 ? 1 : 0;
}

void ValueLoss::add_cross_entropy(const lm::MeasuredSequence& sequence,
                                  lm::SequenceTerm& term) const {
  if (settings_.lm_weight == 0.0) return;
  // Training divides by terms(), which counts pairs for bradley_terry. A pair has two sequences, so
  // the factor 0.5 gives the mean over sequences.
  const double weight = settings_.lm_weight * (settings_.compares_pairs() ? 0.5 : 1.0) /
                        static_cast<double>(sequence.predictions());
  term.loss -= weight * sequence.log_prob();
  term.log_probs.assign(sequence.ids.size(), -weight);
}

lm::SequenceTerm ValueLoss::weigh(const lm::MeasuredSequence& sequence,
                                  const lm::SequencePlace& place) const {
  lm::SequenceTerm term;
  if (settings_.compares_pairs())
    weigh_pair(place, term, sequence.head.size());
  else
    weigh_tokens(sequence, term);
  add_cross_entropy(sequence, term);
  return term;
}

std::int64_t ValueLoss::terms(const lm::SequenceTable& all) const {
  return static_cast<std::int64_t>(settings_.compares_pairs() ? all.num_groups()
                                                              : all.rows().size());
}

}  // namespace mgpu::recipes
