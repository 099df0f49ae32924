#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <mgpu/lm/training/sequence_loss.hpp>

#include "batch_numbers.hpp"
#include "settings.hpp"

namespace mgpu::recipes {

/// Columns of a batch of completions. A column has one value per token, unless it is marked `per
/// sequence`. Columns per token hold log-probabilities in nats, and the value at a position belongs
/// to the next token. Log-probabilities are at the sampling temperature, unless stated otherwise.
/// The sampler is lm::Generator, which sampled the completions. The start model is the model with
/// the weights from which the training starts.
inline constexpr const char* kSampledColumn = "sampled_log_prob";  // of the sampler, temperature 1
/// Log-probabilities of training's forward pass, with the weights that sampled the completions.
inline constexpr const char* kOldColumn = "old_log_prob";
inline constexpr const char* kStartColumn = "start_log_prob";    // under the start model
inline constexpr const char* kRewardColumn = "reward";           // per sequence; NaN: no score
inline constexpr const char* kTruncatedColumn = "is_truncated";  // per sequence, 0 or 1
/// Per sequence: largest difference between kSampledColumn and the log-probabilities of training's
/// forward pass with the same weights.
inline constexpr const char* kDifferenceColumn = "log_prob_difference";
/// The next two columns are per sequence, and exist if GrpoSettings::refills is above 0. Column
/// kFirstRewardColumn has the reward of the completion that had the same index in the batch before
/// any group was replaced. Column kRefillsColumn contains how many times the group was replaced.
inline constexpr const char* kFirstRewardColumn = "first_reward";
inline constexpr const char* kRefillsColumn = "refills";

/// Compares the log-probabilities that training and the sampler compute for the tokens of a
/// sequence. Returns the largest absolute difference over the tokens, in nats. Tokens whose target
/// is kIgnoreTarget do not count.
/// Shapes: all [L], L tokens of a sequence
double largest_difference(std::span<const double> of_training, std::span<const double> of_sampler,
                          std::span<const std::int64_t> targets);

/// The policy-gradient losses of recipe `grpo`. Each sequence is a prompt with one completion, and
/// the sequences of a group have the same prompt.
///
/// Every batch has kRewardColumn and kTruncatedColumn. The settings decide about other columns:
///
/// - If GrpoSettings::iterations is 1, the batch has kSampledColumn. In this case, the completions
///   were sampled with the current weights, so all ratios are 1.
/// - If GrpoSettings::iterations is above 1, the batch has kOldColumn and kDifferenceColumn.
/// - If GrpoSettings::beta is above 0, the batch has kStartColumn.
/// - If GrpoSettings::refills is above 0, the batch has kFirstRewardColumn and kRefillsColumn.
///
/// The loss is a sum over the global batch. PolicyVariant defines its divisor. The result of
/// terms() is the number of sequences. A reward above 0 counts as a correct prediction. The
/// function digest() returns the result of BatchNumbers::to_digest().
class GrpoLoss final : public lm::SequenceLoss {
public:
  explicit GrpoLoss(GrpoSettings settings) : settings_(std::move(settings)) {}

  lm::ValueRequest request() const override;
  std::vector<double> facts(const lm::MeasuredSequence& sequence) const override;
  std::vector<double> digest(const lm::SequenceTable& all) const override;
  lm::SequenceTerm weigh(const lm::MeasuredSequence& sequence,
                         const lm::SequencePlace& place) const override;

private:
  struct Tokens;

  PolicyRule rule() const { return {settings_.variant, settings_.clip, settings_.beta}; }
  Tokens tokens_of(const lm::MeasuredSequence& sequence) const;
  bool is_learned(const lm::MeasuredSequence& sequence) const;
  double difference_of(const lm::MeasuredSequence& sequence) const;
  double weight_of(const lm::SequencePlace& place, const BatchNumbers& batch) const;

  GrpoSettings settings_;
};

}  // namespace mgpu::recipes
