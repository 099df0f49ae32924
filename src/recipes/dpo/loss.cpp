#include "loss.hpp"

#include <algorithm>
#include <span>

#include "recipes/lm/logistic.hpp"
#include "recipes/lm/reference.hpp"

namespace mgpu::recipes {
namespace {

// The constants kLogProb and kLogRatio are indices in the result of DpoLoss::facts(). The constant
// kChosenTokens is the index of the last element in the result of DpoLoss::digest(), after the
// reported values.
constexpr std::size_t kLogProb = 0;
constexpr std::size_t kLogRatio = 1;
constexpr std::size_t kChosenTokens = 5;

/// Returns the PairLoss of a loss that depends only on the difference of the two log-ratios.
/// `slope` is the derivative of `loss` with respect to this difference.
PairLoss of_difference(double loss, double slope) {
  return {loss, slope, -slope};
}

/// Returns the PairLoss of a loss that depends only on the difference of the two log-ratios per
/// token. `slope` is the derivative of `loss` with respect to this difference.
PairLoss of_means(const PairRatios& pair, double loss, double slope) {
  return {loss, slope / static_cast<double>(pair.chosen_tokens),
          -slope / static_cast<double>(pair.rejected_tokens)};
}

double difference_of_means(const PairRatios& pair) {
  return pair.chosen / static_cast<double>(pair.chosen_tokens) -
         pair.rejected / static_cast<double>(pair.rejected_tokens);
}

PairLoss robust_loss(const DpoSettings& settings, double margin) {
  const double wrong = settings.label_smoothing;
  const double scale = 1.0 / (1.0 - 2.0 * wrong);
  return of_difference(
      scale * ((1.0 - wrong) * softplus(-margin) - wrong * softplus(margin)),
      -settings.beta * scale * ((1.0 - wrong) * sigmoid(-margin) + wrong * sigmoid(margin)));
}

PairRatios ratios_of(std::span<const lm::SequenceFacts> pair) {
  return {pair[0].values[kLogRatio], pair[1].values[kLogRatio],
          std::max<std::int64_t>(pair[0].predictions, 1),
          std::max<std::int64_t>(pair[1].predictions, 1)};
}

}  // namespace

PairLoss loss_of_pair(const DpoSettings& settings, const PairRatios& pair) {
  const double beta = settings.beta;
  const double margin = beta * (pair.chosen - pair.rejected);
  switch (settings.kind) {
    case DpoKind::sigmoid:
      return of_difference(softplus(-margin), -beta * sigmoid(-margin));
    case DpoKind::hinge:
      return of_difference(std::max(0.0, 1.0 - margin), margin < 1.0 ? -beta : 0.0);
    case DpoKind::robust:
      return robust_loss(settings, margin);
    case DpoKind::ipo: {
      const double distance = difference_of_means(pair) - 1.0 / (2.0 * beta);
      return of_means(pair, distance * distance, 2.0 * distance);
    }
    case DpoKind::sigmoid_norm: {
      const double mean = beta * difference_of_means(pair);
      return of_means(pair, softplus(-mean), -beta * sigmoid(-mean));
    }
    case DpoKind::apo_zero:
      break;
  }
  const double chosen = beta * pair.chosen;
  const double rejected = beta * pair.rejected;
  return {sigmoid(-chosen) + sigmoid(rejected), -beta * sigmoid(chosen) * sigmoid(-chosen),
          beta * sigmoid(rejected) * sigmoid(-rejected)};
}

std::vector<ReportedValue> DpoLoss::reported_values() {
  const char* const rewards = "Rewards";
  const char* const log_probs = "Log-probabilities of the completions";
  return {
      {"chosen_reward", "rewards/chosen", "mean reward of chosen completions", "", rewards},
      {"rejected_reward", "rewards/rejected", "mean reward of rejected completions", "", rewards},
      {"reward_margin", "rewards/margins", "mean of chosen minus rejected reward", "", rewards},
      {"chosen_log_prob", "logps/chosen", "mean log-probability of chosen completions", "nats",
       log_probs},
      {"rejected_log_prob", "logps/rejected", "mean log-probability of rejected completions",
       "nats", log_probs}};
}

std::vector<double> DpoLoss::facts(const lm::MeasuredSequence& sequence) const {
  const double mine = sequence.log_prob();
  return {mine, mine - sequence.sequence_column(kReferenceColumn)};
}

std::vector<double> DpoLoss::digest(const lm::SequenceTable& all) const {
  std::vector<double> digest(kChosenTokens + 1, 0.0);
  const auto pairs = static_cast<double>(all.num_groups());
  for (std::size_t group = 0; group < all.num_groups(); ++group) {
    const auto pair = all.group(group);
    const double chosen = settings_.beta * pair[0].values[kLogRatio] / pairs;
    const double rejected = settings_.beta * pair[1].values[kLogRatio] / pairs;
    digest[0] += chosen;
    digest[1] += rejected;
    digest[2] += chosen - rejected;
    digest[3] += pair[0].values[kLogProb] / pairs;
    digest[4] += pair[1].values[kLogProb] / pairs;
    digest[kChosenTokens] += static_cast<double>(pair[0].predictions);
  }
  return digest;
}

lm::SequenceTerm DpoLoss::weigh(const lm::MeasuredSequence& sequence,
                                const lm::SequencePlace& place) const {
  const PairRatios ratios = ratios_of(place.group());
  const PairLoss pair = loss_of_pair(settings_, ratios);
  lm::SequenceTerm term;
  double slope = pair.rejected;
  if (place.member() == 0) {
    // Training divides the sum of all losses by terms(), the number of pairs. But the cross-entropy
    // is a mean over the tokens of chosen completions. Its factor num_groups(), which is also the
    // number of pairs, cancels the division.
    const double weight = settings_.sft_weight * static_cast<double>(place.all.num_groups()) /
                          place.digest[kChosenTokens];
    slope = pair.chosen - weight;
    term.loss = pair.loss - weight * sequence.log_prob();
    term.correct = ratios.chosen > ratios.rejected ? 1 : 0;
  }
  term.log_probs.assign(sequence.ids.size(), slope);
  return term;
}

}  // namespace mgpu::recipes
