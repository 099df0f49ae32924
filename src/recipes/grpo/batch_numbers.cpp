#include "batch_numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace mgpu::recipes {
namespace {

/// The setting that must be on for a number to be reported.
enum class Needs : std::uint8_t { nothing, reference, refills };

/// A number that is reported for each batch.
struct BatchNumber {
  double BatchNumbers::*value;
  const char* name;
  const char* scalar;  // name in TensorBoard: TRL's name if TRL reports the number
  const char* text;
  const char* unit;
  const char* chart;
  Needs needs = Needs::nothing;
};

constexpr const char* kShares = "Shares";
constexpr std::array kBatchNumbers = {
    BatchNumber{&BatchNumbers::group_deviation, "reward_std", "reward_std",
                "mean standard deviation of the rewards of a group", "", "Rewards"},
    BatchNumber{&BatchNumbers::first_reward, "reward_before_refill", "reward_before_refill",
                "mean reward before groups were replaced", "", "Rewards", Needs::refills},
    BatchNumber{&BatchNumbers::refilled_groups, "refilled_groups", "refilled_groups",
                "groups that replaced groups without variance", "groups", "Replaced groups",
                Needs::refills},
    BatchNumber{&BatchNumbers::completion_length, "completion_length", "completions/mean_length",
                "mean length of completions", "tokens", "Length of completions"},
    BatchNumber{&BatchNumbers::zero_variance_share, "zero_variance_share", "frac_reward_zero_std",
                "share of groups whose rewards are all equal", "", kShares},
    BatchNumber{&BatchNumbers::clip_share, "clip_share", "clip_ratio/region_mean",
                "share of ratios whose gradient is clipped", "", kShares},
    BatchNumber{&BatchNumbers::truncated_share, "truncated_share", "completions/clipped_ratio",
                "share of completions without an end", "", kShares},
    BatchNumber{&BatchNumbers::unscored_share, "unscored_share", "completions/unscored_ratio",
                "share of completions without a score", "", kShares},
    BatchNumber{&BatchNumbers::entropy, "entropy", "entropy", "mean entropy of the next token",
                "nats", "Entropy and distance from the start model"},
    BatchNumber{&BatchNumbers::kl, "kl", "kl", "mean KL estimate of a token from the start model",
                "nats", "Entropy and distance from the start model", Needs::reference},
    BatchNumber{&BatchNumbers::difference, "log_prob_difference",
                "sampling/sampling_logp_difference/max",
                "largest difference between log-probabilities of sampler and training", "nats",
                "Difference between sampler and training"}};

/// The index of each fact in the result of CompletionFacts::to_values().
enum FactPlace : std::size_t {
  kRewardPlace,
  kTruncatedPlace,
  kLearnedPlace,
  kBelowPlace,
  kAbovePlace,
  kRatiosPlace,
  kKlPlace,
  kEntropyPlace,
  kDifferencePlace,
  kFirstRewardPlace,
  kRefillsPlace,
  kNumFacts
};

bool is_reported(const BatchNumber& number, const GrpoSettings& settings) {
  if (number.needs == Needs::reference) return settings.beta > 0.0;
  return number.needs == Needs::nothing || settings.refills > 0;
}

std::int64_t whole(double value) {
  return std::llround(value);
}

std::vector<double> first_rewards_of(std::span<const lm::SequenceFacts> sequences) {
  std::vector<double> rewards;
  for (const lm::SequenceFacts& facts : sequences)
    rewards.push_back(CompletionFacts::of(facts).first_reward);
  return rewards;
}

double share_of(double part, std::int64_t all) {
  return part / static_cast<double>(std::max<std::int64_t>(all, 1));
}

}  // namespace

std::vector<double> CompletionFacts::to_values() const {
  std::vector<double> values(kNumFacts);
  values[kRewardPlace] = reward;
  values[kTruncatedPlace] = is_truncated ? 1.0 : 0.0;
  values[kLearnedPlace] = is_learned ? 1.0 : 0.0;
  values[kBelowPlace] = static_cast<double>(below);
  values[kAbovePlace] = static_cast<double>(above);
  values[kRatiosPlace] = static_cast<double>(ratios);
  values[kKlPlace] = kl;
  values[kEntropyPlace] = entropy;
  values[kDifferencePlace] = difference;
  values[kFirstRewardPlace] = first_reward;
  values[kRefillsPlace] = static_cast<double>(refills);
  return values;
}

CompletionFacts CompletionFacts::of(const lm::SequenceFacts& facts) {
  const std::vector<double>& values = facts.values;
  return {.reward = values.at(kRewardPlace),
          .is_truncated = values.at(kTruncatedPlace) != 0.0,
          .is_learned = values.at(kLearnedPlace) != 0.0,
          .below = whole(values.at(kBelowPlace)),
          .above = whole(values.at(kAbovePlace)),
          .ratios = whole(values.at(kRatiosPlace)),
          .kl = values.at(kKlPlace),
          .entropy = values.at(kEntropyPlace),
          .difference = values.at(kDifferencePlace),
          .first_reward = values.at(kFirstRewardPlace),
          .refills = whole(values.at(kRefillsPlace)),
          .tokens = facts.predictions};
}

std::vector<double> rewards_of(std::span<const lm::SequenceFacts> sequences) {
  std::vector<double> rewards;
  for (const lm::SequenceFacts& facts : sequences)
    rewards.push_back(CompletionFacts::of(facts).reward);
  return rewards;
}

BatchNumbers::BatchNumbers(const lm::SequenceTable& all, const GrpoSettings& settings)
    : rewards(stats_of(rewards_of(all.rows()))), sequences(std::ssize(all.rows())) {
  const bool has_lanes = settings.variant == PolicyVariant::bnpo;
  if (has_lanes) lane_tokens.resize(static_cast<std::size_t>(settings.lanes));
  for (std::size_t group = 0; group < all.num_groups(); ++group)
    add_group(all.group(group), settings);
  for (const lm::SequenceFacts& row : all.rows()) {
    const CompletionFacts facts = CompletionFacts::of(row);
    if (!facts.is_learned) continue;
    learned_tokens += facts.tokens;
    if (has_lanes) lane_tokens[lane_of(row, all, settings)] += facts.tokens;
  }
  first_reward = stats_of(first_rewards_of(all.rows())).mean;
  divide(all.num_groups());
}

void BatchNumbers::add_group(std::span<const lm::SequenceFacts> group,
                             const GrpoSettings& settings) {
  const RewardStats stats = stats_of(rewards_of(group));
  group_deviation += stats.deviation();
  zero_variance_share += stats.are_equal ? 1.0 : 0.0;
  refilled_groups += static_cast<double>(CompletionFacts::of(group.front()).refills);
  for (const lm::SequenceFacts& row : group) {
    const CompletionFacts facts = CompletionFacts::of(row);
    const double advantage =
        advantage_of(facts.reward, stats, rewards, baseline_of(settings.variant), settings.scale);
    completion_length += static_cast<double>(facts.tokens);
    truncated_share += facts.is_truncated ? 1.0 : 0.0;
    unscored_share += std::isnan(facts.reward) ? 1.0 : 0.0;
    difference = std::max(difference, facts.difference);
    if (!facts.is_learned) continue;
    kl += facts.kl;
    entropy += facts.entropy;
    tokens_ += facts.tokens;
    ratios_ += facts.ratios;
    if (advantage != 0.0)
      clip_share += static_cast<double>(advantage > 0.0 ? facts.above : facts.below);
  }
}

void BatchNumbers::divide(std::size_t groups) {
  group_deviation = share_of(group_deviation, static_cast<std::int64_t>(groups));
  zero_variance_share = share_of(zero_variance_share, static_cast<std::int64_t>(groups));
  completion_length = share_of(completion_length, sequences);
  truncated_share = share_of(truncated_share, sequences);
  unscored_share = share_of(unscored_share, sequences);
  clip_share = share_of(clip_share, ratios_);
  kl = share_of(kl, tokens_);
  entropy = share_of(entropy, tokens_);
}

std::vector<double> BatchNumbers::to_digest(const GrpoSettings& settings) const {
  std::vector<double> digest{rewards.mean};
  for (const BatchNumber& number : kBatchNumbers)
    if (is_reported(number, settings)) digest.push_back(this->*number.value);
  digest.push_back(static_cast<double>(rewards.scored));
  digest.push_back(rewards.squares);
  digest.push_back(static_cast<double>(sequences));
  digest.push_back(static_cast<double>(learned_tokens));
  for (const std::int64_t tokens : lane_tokens)
    digest.push_back(static_cast<double>(tokens));
  return digest;
}

BatchNumbers::BatchNumbers(std::span<const double> digest, const GrpoSettings& settings) {
  rewards.mean = digest.front();
  digest = digest.subspan(1);
  for (const BatchNumber& number : kBatchNumbers) {
    if (!is_reported(number, settings)) continue;
    this->*number.value = digest.front();
    digest = digest.subspan(1);
  }
  rewards.scored = whole(digest[0]);
  rewards.squares = digest[1];
  sequences = whole(digest[2]);
  learned_tokens = whole(digest[3]);
  for (const double tokens : digest.subspan(4))
    lane_tokens.push_back(whole(tokens));
}

std::size_t lane_of(const lm::SequenceFacts& sequence, const lm::SequenceTable& all,
                    const GrpoSettings& settings) {
  const auto size = static_cast<std::uint64_t>(settings.global_batch / settings.lanes);
  return static_cast<std::size_t>((sequence.item - all.rows().front().item) / size);
}

std::vector<ReportedValue> reported_values_of(const GrpoSettings& settings) {
  std::vector<ReportedValue> values{{"reward", "reward", "mean reward", "", "Rewards"}};
  values.back().on_screen = true;
  for (const BatchNumber& number : kBatchNumbers) {
    if (!is_reported(number, settings)) continue;
    values.push_back({number.name, number.scalar, number.text, number.unit, number.chart});
    values.back().on_screen = number.value == &BatchNumbers::difference;
  }
  return values;
}

}  // namespace mgpu::recipes
