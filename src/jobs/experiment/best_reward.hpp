#pragma once

namespace mgpu::jobs {

/// Returns the largest mean reward q that a policy can reach at a given KL divergence from a
/// reference policy, if each reward is 0 or 1. The result is the q >= p with
/// q log(q / p) + (1 - q) log((1 - q) / (1 - p)) = `kl`, or 1 if `kl` is at least -log(p).
///
/// `reference` is the mean reward p of the reference policy, with 0 < p < 1. This mean is assumed
/// to be the same for each prompt. `kl` is the KL divergence of a whole completion from the
/// reference policy, in nats, and must not be negative.
/// Source: the Gibbs variational principle for two outcomes (Donsker and Varadhan, 1975).
double best_reward(double reference, double kl);

}  // namespace mgpu::jobs
