#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/lm/training/sequence_loss.hpp>

#include "recipes/lm/method.hpp"
#include "settings.hpp"

namespace mgpu::recipes {

/// Facts about one completion. The ranks exchange all facts except `tokens` as
/// SequenceFacts::values.
struct CompletionFacts {
  double reward = 0.0;  // NaN: the completion has no score
  bool is_truncated = false;
  bool is_learned = true;     // false: GrpoSettings::masks_truncated leaves it out of the loss
  std::int64_t below = 0;     // number of ratios (new / old probability) below the clipping range
  std::int64_t above = 0;     // number of ratios above the clipping range
  std::int64_t ratios = 0;    // number of all ratios
  double kl = 0.0;            // sum of kl_of_token() over the tokens, nats
  double entropy = 0.0;       // sum over the tokens, nats
  double difference = 0.0;    // largest |log-prob. of training - of sampler|, nats
  double first_reward = 0.0;  // reward at this index before groups were replaced; 0: no refills
  std::int64_t refills = 0;   // how many times the completion's group was replaced
  std::int64_t tokens = 0;    // number of tokens of the completion; not in to_values()

  std::vector<double> to_values() const;
  static CompletionFacts of(const lm::SequenceFacts& facts);
};

/// Numbers about a global batch, in which a group is all completions of a prompt. Some are reported
/// to the user, and others are needed for the loss of each completion.
struct BatchNumbers {
  BatchNumbers(const lm::SequenceTable& all, const GrpoSettings& settings);

  /// Reads the numbers that to_digest() made.
  BatchNumbers(std::span<const double> digest, const GrpoSettings& settings);

  /// Returns the values that reported_values_of() describes, then the numbers that only the loss
  /// needs.
  std::vector<double> to_digest(const GrpoSettings& settings) const;

  RewardStats rewards{};                    // of the whole batch
  std::int64_t sequences = 0;               // number of completions in the whole batch
  std::int64_t learned_tokens = 0;          // tokens of the completions with is_learned
  std::vector<std::int64_t> lane_tokens{};  // [lanes] learned tokens of each lane; empty unless
                                            // the variant is bnpo

  double group_deviation = 0.0;      // standard deviation of rewards, mean over the groups
  double completion_length = 0.0;    // mean number of tokens of a completion
  double truncated_share = 0.0;      // share of the completions that are truncated
  double zero_variance_share = 0.0;  // share of the groups whose rewards are all equal
  double clip_share = 0.0;           // share of the ratios whose gradient is clipped
  double unscored_share = 0.0;       // share of the completions without a score
  double kl = 0.0;                   // mean kl_of_token() over the learned tokens, nats
  double entropy = 0.0;              // mean over the learned tokens, nats
  double difference = 0.0;           // largest CompletionFacts::difference, nats
  double first_reward = 0.0;         // mean reward before groups were replaced
  double refilled_groups = 0.0;      // number of groups that replaced others

private:
  void add_group(std::span<const lm::SequenceFacts> group, const GrpoSettings& settings);
  void divide(std::size_t groups);

  std::int64_t tokens_ = 0;
  std::int64_t ratios_ = 0;
};

/// Returns the index of the lane that contains `sequence`, which is a row of `all`. Only for
/// variant bnpo, whose global batch consists of GrpoSettings::lanes lanes of equal size.
std::size_t lane_of(const lm::SequenceFacts& sequence, const lm::SequenceTable& all,
                    const GrpoSettings& settings);

/// Returns descriptions of the numbers of a batch that curves and tables show. The settings decide
/// which numbers these are.
std::vector<ReportedValue> reported_values_of(const GrpoSettings& settings);

/// Returns the rewards of completions, in order.
std::vector<double> rewards_of(std::span<const lm::SequenceFacts> sequences);

}  // namespace mgpu::recipes
