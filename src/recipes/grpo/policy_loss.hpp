#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "advantages.hpp"

// Shapes in this header: L tokens of a completion.
namespace mgpu::recipes {

/// The losses of recipe `grpo`. p is the current probability of a token, and r is p divided by the
/// token's probability when it was sampled. A is the advantage of the completion, and b is
/// PolicyRule::beta. A lane is one of GrpoSettings::lanes equal parts of the global batch. Variant
/// cispo treats its factor min(r, clip.high) as a constant. All variants except seed_offline also
/// add b times kl_of_token() of each token.
enum class PolicyVariant : std::uint8_t {
  grpo,          // -min(r A, clip(r) A), mean per completion; arXiv 2402.03300
  dr_grpo,       // grpo divided by max_new_tokens, not by the length; arXiv 2503.20783
  dapo,          // terms of grpo, mean over the tokens of the global batch; arXiv 2503.14476
  bnpo,          // terms of grpo, mean over the tokens of each lane, then over the lanes
  cispo,         // -min(r, clip.high) A log p, mean as for dapo; arXiv 2506.13585
  gspo,          // one ratio per completion, the geometric mean of r; arXiv 2507.18071
  rloo,          // one ratio per completion, the product of r; arXiv 2402.14740
  reinforce,     // -A log p, where p is the probability of the whole completion
  seed_offline,  // -(A log p - b (log p - log p_reference)) of the whole completion
};

/// Ratios are clipped to the range [1 - low, 1 + high]. For cispo, `high` itself is the largest
/// ratio, instead of 1 + high, and `low` is unused.
struct ClipRange {
  double low = 0.2;
  double high = 0.2;
};

/// Settings of the loss of a completion.
struct PolicyRule {
  PolicyVariant variant = PolicyVariant::grpo;
  ClipRange clip{};
  double beta = 0.0;  // weight of the distance from the reference (the start model)
};

/// One completion. Log-probabilities are those at the sampling temperature, in nats.
struct PolicySequence {
  std::span<const double> now;        // [L] under the current weights
  std::span<const double> old;        // [L] under the weights that sampled the completion
  std::span<const double> reference;  // [L] under the start model; empty if PolicyRule::beta is 0
  double advantage = 0.0;
};

/// The loss of one completion. It is a sum that is not yet divided by a number of tokens.
struct PolicyLoss {
  double loss = 0.0;
  std::vector<double> slopes{};  // [L] derivatives with respect to PolicySequence::now
};

PolicyLoss loss_of(const PolicyRule& rule, const PolicySequence& sequence);

/// Counts of the ratios below the clipping range, above it, and in total. With one ratio per
/// completion, `all` is 1. All counts are 0 for variants without clipping, and for a completion
/// without tokens.
struct ClipCounts {
  std::int64_t below = 0;
  std::int64_t above = 0;
  std::int64_t all = 0;
};
ClipCounts clip_counts(const PolicyRule& rule, std::span<const double> now,
                       std::span<const double> old);

/// Returns exp(d) - d - 1 with d = reference - now. It estimates KL(model || reference) at a token
/// that the model sampled, in nats, and is never negative.
/// Source: Schulman, "Approximating KL divergence" (k3).
double kl_of_token(double now, double reference);

bool has_ratio_of_sequence(PolicyVariant variant);
bool has_clipping(PolicyVariant variant);
Baseline baseline_of(PolicyVariant variant);

}  // namespace mgpu::recipes
