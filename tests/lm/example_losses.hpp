#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/lm_objective.hpp>

// Losses of whole sequences as a recipe would define them, and examples for them.
namespace mgpu::lm {

/// Direct preference optimization: pairs, the chosen one first, with the reference's
/// log-probability of each in the column `reference`. Source: Rafailov et al., arXiv 2305.18290,
/// eq. 7.
class DpoLoss final : public SequenceLoss {
public:
  explicit DpoLoss(double beta, double temperature = 1.0) : beta_(beta), t_(temperature) {}

  ValueRequest request() const override { return {.temperature = t_}; }
  std::vector<double> facts(const MeasuredSequence& sequence) const override {
    return {sequence.log_prob() - sequence.sequence_column("reference")};
  }
  SequenceTerm weigh(const MeasuredSequence& sequence, const SequencePlace& place) const override {
    const auto pair = place.group();
    const double margin = beta_ * (pair[0].values[0] - pair[1].values[0]);
    const bool is_chosen = place.member() == 0;
    const double slope = -beta_ / (1.0 + std::exp(margin));
    SequenceTerm term;
    if (is_chosen) {
      term.loss = std::log1p(std::exp(-margin));
      term.correct = margin > 0.0 ? 1 : 0;
    }
    term.log_probs.assign(sequence.ids.size(), is_chosen ? slope : -slope);
    return term;
  }
  std::int64_t terms(const SequenceTable& all) const override {
    return static_cast<std::int64_t>(all.num_groups());
  }

private:
  double beta_;
  double t_;
};

/// Policy gradient. An advantage is the column `reward` minus the average of the group's mean and
/// the batch's mean. The ratios to the column `old` are clipped for each token, and the loss is a
/// mean over all tokens of the batch. Source: Shao et al., arXiv 2402.03300, without its KL term.
class GroupLoss final : public SequenceLoss {
public:
  static constexpr double kClip = 0.2;

  std::vector<double> facts(const MeasuredSequence& sequence) const override {
    return {sequence.sequence_column("reward")};
  }
  std::vector<double> digest(const SequenceTable& all) const override {
    double sum = 0.0;  // of all rewards, for a baseline over all groups
    for (const SequenceFacts& row : all.rows())
      sum += row.values[0];
    return {sum / static_cast<double>(all.rows().size())};
  }
  SequenceTerm weigh(const MeasuredSequence& sequence, const SequencePlace& place) const override {
    double mean = 0.0;
    for (const SequenceFacts& member : place.group())
      mean += member.values[0] / static_cast<double>(place.group().size());
    const double advantage = place.facts().values[0] - 0.5 * (mean + place.digest[0]);
    const auto old = sequence.token_column("old");
    SequenceTerm term;
    term.log_probs.assign(sequence.ids.size(), 0.0);
    for (std::size_t t = 0; t < sequence.ids.size(); ++t) {
      if (sequence.targets[t] == kernels::kIgnoreTarget) continue;
      const double ratio = std::exp(sequence.log_probs[t] - old[t]);
      const double clipped = std::min(std::max(ratio, 1.0 - kClip), 1.0 + kClip);
      term.loss -= std::min(ratio * advantage, clipped * advantage);
      if (ratio * advantage <= clipped * advantage) term.log_probs[t] = -ratio * advantage;
    }
    return term;
  }
  std::int64_t terms(const SequenceTable& all) const override { return all.predictions(); }
};

/// Bradley-Terry loss: the head's value of the chosen sequence should exceed that of the rejected
/// one.
class PairLoss final : public SequenceLoss {
public:
  ValueRequest request() const override {
    return {.log_probs = false, .head_rows = HeadRows::last};
  }
  std::vector<double> facts(const MeasuredSequence& sequence) const override {
    return {sequence.head[0]};
  }
  SequenceTerm weigh(const MeasuredSequence& /*sequence*/,
                     const SequencePlace& place) const override {
    const auto pair = place.group();
    const double margin = pair[0].values[0] - pair[1].values[0];
    const double slope = -1.0 / (1.0 + std::exp(margin));
    if (place.member() == 0)
      return {std::log1p(std::exp(-margin)), margin > 0.0 ? 1 : 0, {}, {slope}};
    return {0.0, 0, {}, {-slope}};
  }
  std::int64_t terms(const SequenceTable& all) const override {
    return static_cast<std::int64_t>(all.num_groups());
  }
};

/// Returns `count` sequences of 4 to 9 tokens in groups. The first two tokens of each are a prompt.
inline LmExamples grouped_examples(std::int64_t count, std::int64_t group_size,
                                   std::int64_t vocab = 4100) {
  LmExamples examples;
  examples.group_size = group_size;
  for (std::int64_t e = 0; e < count; ++e) {
    const std::int64_t length = 4 + e * 5 % 6;
    for (std::int64_t i = 0; i < length; ++i) {
      examples.ids.push_back((i * 1013 + e * 577 + 31) % vocab);
      examples.is_learned.push_back(i < 2 ? 0 : 1);
      examples.token_columns["old"].push_back(-8.4 + 0.1 * static_cast<double>((i * 7 + e) % 5));
    }
    examples.ends.push_back(std::ssize(examples.ids));
    examples.sequence_columns["reference"].push_back(-20.0 + static_cast<double>(e * 3 % 7));
    examples.sequence_columns["reward"].push_back(static_cast<double>(e * 5 % 4));
  }
  return examples;
}

}  // namespace mgpu::lm
