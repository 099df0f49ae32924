#include "advantages.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <vector>

namespace mgpu::recipes {
namespace {

constexpr double kAdded = 1e-4;           // added to a standard deviation, as in TRL
constexpr double kLeastDeviation = 1e-8;  // smallest divisor for Baseline::group_z_score

double divisor_of(const RewardStats& group, const RewardStats& batch, RewardScale scale) {
  if (scale == RewardScale::none) return 1.0;
  return (scale == RewardScale::group ? group : batch).deviation() + kAdded;
}

}  // namespace

double RewardStats::deviation() const {
  return scored < 2 ? 0.0 : std::sqrt(squares / static_cast<double>(scored - 1));
}

RewardStats stats_of(std::span<const double> rewards) {
  std::vector<double> scores;
  std::ranges::copy_if(rewards, std::back_inserter(scores),
                       [](double x) { return !std::isnan(x); });
  RewardStats stats{.scored = std::ssize(scores)};
  if (scores.empty()) return stats;
  stats.mean = scores.front();
  stats.are_equal = std::ranges::count(scores, scores.front()) == stats.scored;
  if (stats.are_equal) return stats;  // a rounded mean would give advantages other than 0
  stats.mean =
      std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size());
  for (const double score : scores)
    stats.squares += (score - stats.mean) * (score - stats.mean);
  return stats;
}

double advantage_of(double reward, const RewardStats& group, const RewardStats& batch,
                    Baseline baseline, RewardScale scale) {
  if (std::isnan(reward)) return 0.0;
  if (baseline == Baseline::batch_mean)
    return (reward - batch.mean) / divisor_of(group, batch, scale);
  if (group.scored < 2) return 0.0;
  const auto members = static_cast<double>(group.scored);
  double advantage = reward - group.mean;
  if (baseline == Baseline::group_z_score)
    return advantage / std::max(std::sqrt(group.squares / members), kLeastDeviation);
  if (baseline == Baseline::others_mean) advantage *= members / (members - 1.0);
  return advantage / divisor_of(group, batch, scale);
}

}  // namespace mgpu::recipes
