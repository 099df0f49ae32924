#include "policy_loss.hpp"

#include <algorithm>
#include <cmath>

namespace mgpu::recipes {
namespace {

/// A loss, and its derivative with respect to a log-probability or log-ratio.
struct Term {
  double loss = 0.0;
  double slope = 0.0;
};

/// Returns the loss -min(r A, clip(r) A) of the ratio r and the advantage A. `slope` is the
/// derivative with respect to log r.
Term clipped(double ratio, double advantage, const ClipRange& clip) {
  const double bounded = std::clamp(ratio, 1.0 - clip.low, 1.0 + clip.high);
  if (bounded * advantage < ratio * advantage) return {-bounded * advantage, 0.0};
  return {-ratio * advantage, -ratio * advantage};
}

Term of_token(const PolicyRule& rule, double now, double old, double advantage) {
  const double ratio = std::exp(now - old);
  if (rule.variant == PolicyVariant::cispo) {
    const double weight = std::min(ratio, rule.clip.high) * advantage;
    return {-weight * now, -weight};
  }
  if (!has_clipping(rule.variant)) return {-advantage * now, -advantage};
  return clipped(ratio, advantage, rule.clip);
}

/// Returns the log-ratio of a whole completion: the mean over its tokens for gspo, else their sum.
double log_ratio(const PolicyRule& rule, std::span<const double> now, std::span<const double> old) {
  double sum = 0.0;
  for (std::size_t t = 0; t < now.size(); ++t)
    sum += now[t] - old[t];
  return rule.variant == PolicyVariant::gspo ? sum / static_cast<double>(now.size()) : sum;
}

/// Adds the loss of a completion that has a single ratio. For gspo, multiplies the loss by the
/// number of tokens, because GrpoLoss later divides it by this number.
void add_sequence(const PolicyRule& rule, const PolicySequence& sequence, PolicyLoss& total) {
  if (sequence.now.empty()) return;
  const double ratio = std::exp(log_ratio(rule, sequence.now, sequence.old));
  const Term term = clipped(ratio, sequence.advantage, rule.clip);
  const bool is_mean = rule.variant == PolicyVariant::gspo;
  total.loss += is_mean ? term.loss * static_cast<double>(sequence.now.size()) : term.loss;
  for (double& slope : total.slopes)
    slope += term.slope;
}

void add_tokens(const PolicyRule& rule, const PolicySequence& sequence, PolicyLoss& total) {
  for (std::size_t t = 0; t < sequence.now.size(); ++t) {
    const Term term = of_token(rule, sequence.now[t], sequence.old[t], sequence.advantage);
    total.loss += term.loss;
    total.slopes[t] += term.slope;
  }
}

void add_distance(const PolicyRule& rule, const PolicySequence& sequence, PolicyLoss& total) {
  for (std::size_t t = 0; t < sequence.now.size(); ++t) {
    const double ahead = sequence.reference[t] - sequence.now[t];
    const bool is_log_ratio = rule.variant == PolicyVariant::seed_offline;
    total.loss +=
        rule.beta * (is_log_ratio ? -ahead : kl_of_token(sequence.now[t], sequence.reference[t]));
    total.slopes[t] += rule.beta * (is_log_ratio ? 1.0 : 1.0 - std::exp(ahead));
  }
}

}  // namespace

bool has_ratio_of_sequence(PolicyVariant variant) {
  return variant == PolicyVariant::gspo || variant == PolicyVariant::rloo;
}

bool has_clipping(PolicyVariant variant) {
  return variant != PolicyVariant::reinforce && variant != PolicyVariant::seed_offline;
}

Baseline baseline_of(PolicyVariant variant) {
  if (variant == PolicyVariant::rloo) return Baseline::others_mean;
  if (variant == PolicyVariant::reinforce) return Baseline::batch_mean;
  if (variant == PolicyVariant::seed_offline) return Baseline::group_z_score;
  return Baseline::group_mean;
}

double kl_of_token(double now, double reference) {
  const double ahead = reference - now;
  return std::expm1(ahead) - ahead;
}

PolicyLoss loss_of(const PolicyRule& rule, const PolicySequence& sequence) {
  PolicyLoss total;
  total.slopes.assign(sequence.now.size(), 0.0);
  if (has_ratio_of_sequence(rule.variant))
    add_sequence(rule, sequence, total);
  else
    add_tokens(rule, sequence, total);
  if (rule.beta > 0.0) add_distance(rule, sequence, total);
  return total;
}

ClipCounts clip_counts(const PolicyRule& rule, std::span<const double> now,
                       std::span<const double> old) {
  ClipCounts counts;
  if (!has_clipping(rule.variant) || now.empty()) return counts;
  const bool is_cispo = rule.variant == PolicyVariant::cispo;
  const auto add = [&](double ratio) {
    ++counts.all;
    if (!is_cispo && ratio < 1.0 - rule.clip.low) ++counts.below;
    if (ratio > (is_cispo ? rule.clip.high : 1.0 + rule.clip.high)) ++counts.above;
  };
  if (has_ratio_of_sequence(rule.variant)) {
    add(std::exp(log_ratio(rule, now, old)));
    return counts;
  }
  for (std::size_t t = 0; t < now.size(); ++t)
    add(std::exp(now[t] - old[t]));
  return counts;
}

}  // namespace mgpu::recipes
