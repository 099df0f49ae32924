#pragma once

#include <cstdint>
#include <span>

namespace mgpu::recipes {

/// The rewards whose standard deviation divides the advantages: those of the group (all completions
/// of one prompt in the global batch) or those of the global batch. With `none`, the advantages are
/// not divided.
enum class RewardScale : std::uint8_t { group, batch, none };

/// The value that is subtracted from a reward to get its advantage.
enum class Baseline : std::uint8_t {
  group_mean,    // the mean of the group
  others_mean,   // the mean of the other completions of the group; arXiv 2402.14740
  batch_mean,    // the mean of the global batch
  group_z_score  // the mean of the group; the difference is divided by the population
                 // standard deviation of the group
};

/// Statistics of rewards. The reward of a completion without a score is NaN, and the statistics
/// ignore it.
struct RewardStats {
  std::int64_t scored = 0;  // number of rewards that are not NaN
  double mean = 0.0;        // 0 if all rewards are NaN
  double squares = 0.0;     // sum of squared differences from the mean
  bool are_equal = true;    // all scores are the same, or there are fewer than two

  /// Returns the sample standard deviation (divisor `scored` - 1); 0 for fewer than two scores.
  double deviation() const;
};

/// Returns the statistics of `rewards`, which may be empty.
RewardStats stats_of(std::span<const double> rewards);

/// Returns the advantage: the reward minus its baseline, divided by the standard deviation that
/// `scale` selects. As in TRL, the divisor is 1e-4 larger than that standard deviation.
/// Baseline::group_z_score ignores `scale`. Returns 0 if the reward is NaN, or if the baseline is
/// computed from a group with fewer than two scores.
///
/// Source: Shao et al., arXiv 2402.03300, section 4.1.2
double advantage_of(double reward, const RewardStats& group, const RewardStats& batch,
                    Baseline baseline, RewardScale scale);

}  // namespace mgpu::recipes
