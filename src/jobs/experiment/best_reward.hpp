#pragma once

namespace mgpu::jobs {

/// Returns the largest mean q of a reward of 0 or 1 that a policy can have at this KL from a
/// reference. It is the q >= p with q log(q / p) + (1 - q) log((1 - q) / (1 - p)) = KL, or 1 if the
/// KL is at least -log(p).
///
/// `reference`: mean reward p of the reference, 0 < p < 1, the same for each prompt. `kl`: KL of a
/// whole completion from the reference, in nats, at least 0.
/// Source: the Gibbs variational principle for two outcomes (Donsker and Varadhan, 1975).
double best_reward(double reference, double kl);

}  // namespace mgpu::jobs
