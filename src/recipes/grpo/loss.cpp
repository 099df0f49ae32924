#include "loss.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <mgpu/kernels/cross_entropy.hpp>

namespace mgpu::recipes {

/// The log-probabilities of a completion's tokens. The tokens of its prompt are left out.
struct GrpoLoss::Tokens {
  std::vector<std::size_t> places;  // index of each token in the sequence
  std::vector<double> now;
  std::vector<double> old;
  std::vector<double> reference;

  PolicySequence sequence(double advantage) const { return {now, old, reference, advantage}; }
};

lm::ValueRequest GrpoLoss::request() const {
  return {.entropies = true,
          .temperature = settings_.sampling.sampling.temperature,
          .plain_log_probs = settings_.iterations == 1};
}

GrpoLoss::Tokens GrpoLoss::tokens_of(const lm::MeasuredSequence& sequence) const {
  Tokens tokens;
  for (std::size_t t = 0; t < sequence.targets.size(); ++t)
    if (sequence.targets[t] != kernels::kIgnoreTarget) tokens.places.push_back(t);
  const auto chosen = [&](std::span<const double> column) {
    std::vector<double> values;
    for (const std::size_t place : tokens.places)
      values.push_back(column[place]);
    return values;
  };
  tokens.now = chosen(sequence.log_probs);
  tokens.old = settings_.iterations == 1 ? tokens.now : chosen(sequence.token_column(kOldColumn));
  if (settings_.beta > 0.0) tokens.reference = chosen(sequence.token_column(kStartColumn));
  return tokens;
}

bool GrpoLoss::is_learned(const lm::MeasuredSequence& sequence) const {
  return !settings_.masks_truncated || sequence.sequence_column(kTruncatedColumn) == 0.0;
}

/// Returns the largest difference, over the tokens of a completion, between the log-probabilities
/// of the sampler and of training's forward pass. Both were computed with the same weights.
double GrpoLoss::difference_of(const lm::MeasuredSequence& sequence) const {
  if (settings_.iterations > 1) return sequence.sequence_column(kDifferenceColumn);
  return largest_difference(sequence.plain_log_probs, sequence.token_column(kSampledColumn),
                            sequence.targets);
}

std::vector<double> GrpoLoss::facts(const lm::MeasuredSequence& sequence) const {
  const Tokens tokens = tokens_of(sequence);
  const ClipCounts counts = clip_counts(rule(), tokens.now, tokens.old);
  CompletionFacts facts{.reward = sequence.sequence_column(kRewardColumn),
                        .is_truncated = sequence.sequence_column(kTruncatedColumn) != 0.0,
                        .is_learned = is_learned(sequence),
                        .below = counts.below,
                        .above = counts.above,
                        .ratios = counts.all,
                        .difference = difference_of(sequence)};
  for (std::size_t t = 0; t < tokens.reference.size(); ++t)
    facts.kl += kl_of_token(tokens.now[t], tokens.reference[t]);
  if (settings_.refills > 0) {
    facts.first_reward = sequence.sequence_column(kFirstRewardColumn);
    facts.refills = std::llround(sequence.sequence_column(kRefillsColumn));
  }
  facts.entropy = std::accumulate(sequence.entropies.begin(), sequence.entropies.end(), 0.0);
  return facts.to_values();
}

std::vector<double> GrpoLoss::digest(const lm::SequenceTable& all) const {
  return BatchNumbers(all, settings_).to_digest(settings_);
}

/// Returns the factor with which the loss of a completion, PolicyLoss::loss, enters the batch loss.
double GrpoLoss::weight_of(const lm::SequencePlace& place, const BatchNumbers& batch) const {
  const auto inverse = [](std::int64_t count) {
    return 1.0 / static_cast<double>(std::max<std::int64_t>(count, 1));
  };
  switch (settings_.variant) {
    case PolicyVariant::grpo:
    case PolicyVariant::gspo:
      return inverse(batch.sequences) * inverse(place.facts().predictions);
    case PolicyVariant::dr_grpo:
      return inverse(batch.sequences) * inverse(settings_.sampling.max_new_tokens);
    case PolicyVariant::dapo:
    case PolicyVariant::cispo:
      return inverse(batch.learned_tokens);
    case PolicyVariant::bnpo:
      return inverse(settings_.lanes) *
             inverse(batch.lane_tokens.at(lane_of(place.facts(), place.all, settings_)));
    case PolicyVariant::rloo:
    case PolicyVariant::reinforce:
    case PolicyVariant::seed_offline:
      break;
  }
  return inverse(batch.sequences);
}

lm::SequenceTerm GrpoLoss::weigh(const lm::MeasuredSequence& sequence,
                                 const lm::SequencePlace& place) const {
  const double reward = sequence.sequence_column(kRewardColumn);
  lm::SequenceTerm term;
  term.correct = reward > 0.0 ? 1 : 0;  // false for NaN
  term.log_probs.assign(sequence.ids.size(), 0.0);
  if (!is_learned(sequence)) return term;
  const BatchNumbers batch(place.digest, settings_);
  const double advantage = advantage_of(reward, stats_of(rewards_of(place.group())), batch.rewards,
                                        baseline_of(settings_.variant), settings_.scale);
  const Tokens tokens = tokens_of(sequence);
  const PolicyLoss policy = loss_of(rule(), tokens.sequence(advantage));
  // The factor batch.sequences cancels a division: training divides the sum of all losses by
  // terms(), the number of sequences.
  const double weight = weight_of(place, batch) * static_cast<double>(batch.sequences);
  term.loss = weight * policy.loss;
  for (std::size_t t = 0; t < tokens.places.size(); ++t)
    term.log_probs[tokens.places[t]] = weight * policy.slopes[t];
  return term;
}

double largest_difference(std::span<const double> of_training, std::span<const double> of_sampler,
                          std::span<const std::int64_t> targets) {
  double largest = 0.0;
  for (std::size_t t = 0; t < targets.size(); ++t)
    if (targets[t] != kernels::kIgnoreTarget)
      largest = std::max(largest, std::abs(of_training[t] - of_sampler[t]));
  return largest;
}

}  // namespace mgpu::recipes
