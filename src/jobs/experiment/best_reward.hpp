#pragma once

namespace mgpu::jobs {

/// Returns the largest mean reward that a policy can reach at a given KL divergence from a
/// reference policy, if each reward is 0 or 1.
///
/// `reference` is the mean reward p of the reference policy, with 0 < p < 1. This mean is assumed
/// to be the same for each prompt. `kl` is KL(policy || reference policy) of a whole completion,
/// in nats, and must not be negative.
///
/// If `kl` is at least -log(p), the result is 1. Otherwise the result is the q >= p with
/// q log(q / p) + (1 - q) log((1 - q) / (1 - p)) = `kl`.
///
/// Source: the Gibbs variational principle for two outcomes (Donsker and Varadhan, 1975).
double best_reward(double reference, double kl);

}  // namespace mgpu::jobs
