#include "loss.hpp"

#include <algorithm>

#include "recipes/lm/logistic.hpp"
#include "recipes/lm/reference.hpp"

namespace mgpu::recipes {
namespace {

// The constants kJudgedLogProb, kJudgedLogRatio and kIsGood are indices in the result of
// KtoLoss::facts(). The constant kKlOfDigest is an index in the result of KtoLoss::digest().
constexpr std::size_t kJudgedLogProb = 0;
constexpr std::size_t kJudgedLogRatio = 1;
constexpr std::size_t kIsGood = 2;
constexpr std::size_t kKlOfDigest = 5;

/// Sums over the good or the bad completions of a batch.
struct Judged {
  double log_prob = 0.0;
  double log_ratio = 0.0;
  double count = 0.0;  // number of completions; if it is 0, their means are NaN
};

}  // namespace

JudgedLoss loss_of_judged(const KtoSettings& settings, bool is_good, double log_ratio, double kl) {
  const double sign = is_good ? 1.0 : -1.0;
  const double weight = is_good ? settings.desirable_weight : settings.undesirable_weight;
  const double value = sigmoid(sign * settings.beta * (log_ratio - kl));
  // This is 1 - value, without cancellation.
  const double other = sigmoid(-sign * settings.beta * (log_ratio - kl));
  return {weight * other, -weight * sign * settings.beta * value * other};
}

std::vector<ReportedValue> KtoLoss::reported_values() {
  const char* const rewards = "Rewards";
  const char* const log_probs = "Log-probabilities of the completions";
  return {{"chosen_reward", "rewards/chosen", "mean reward of good completions", "", rewards},
          {"rejected_reward", "rewards/rejected", "mean reward of bad completions", "", rewards},
          {"reward_margin", "rewards/margins", "difference of both means", "", rewards},
          {"chosen_log_prob", "logps/chosen", "mean log-probability of good completions", "nats",
           log_probs},
          {"rejected_log_prob", "logps/rejected", "mean log-probability of bad completions", "nats",
           log_probs},
          {"kl", "kl", "estimated KL divergence from the reference", "nats",
           "KL divergence from the reference"}};
}

std::vector<double> KtoLoss::facts(const lm::MeasuredSequence& sequence) const {
  const double mine = sequence.log_prob();
  return {mine, mine - sequence.sequence_column(kReferenceColumn),
          sequence.sequence_column(kLabelColumn)};
}

std::vector<double> KtoLoss::digest(const lm::SequenceTable& all) const {
  Judged good;
  Judged bad;
  double kl = 0.0;
  for (std::size_t group = 0; group < all.num_groups(); ++group) {
    const auto row = all.group(group);
    Judged& mine = row[0].values[kIsGood] > 0.0 ? good : bad;
    mine.log_prob += row[0].values[kJudgedLogProb];
    mine.log_ratio += row[0].values[kJudgedLogRatio];
    mine.count += 1.0;
    if (settings_.has_kl())
      kl += row[1].values[kJudgedLogRatio] / static_cast<double>(all.num_groups());
  }
  const double chosen = settings_.beta * good.log_ratio / good.count;
  const double rejected = settings_.beta * bad.log_ratio / bad.count;
  return {chosen,
          rejected,
          chosen - rejected,
          good.log_prob / good.count,
          bad.log_prob / bad.count,
          std::max(kl, 0.0)};
}

lm::SequenceTerm KtoLoss::weigh(const lm::MeasuredSequence& sequence,
                                const lm::SequencePlace& place) const {
  if (place.member() > 0) return {};  // the second sequence only serves the KL estimate
  const std::vector<double>& values = place.facts().values;
  const bool is_good = values[kIsGood] > 0.0;
  const double kl = place.digest[kKlOfDigest];
  const JudgedLoss judged = loss_of_judged(settings_, is_good, values[kJudgedLogRatio], kl);
  lm::SequenceTerm term;
  term.loss = judged.loss;
  term.correct = is_good == (values[kJudgedLogRatio] > kl) ? 1 : 0;
  term.log_probs.assign(sequence.ids.size(), judged.slope);
  return term;
}

}  // namespace mgpu::recipes
