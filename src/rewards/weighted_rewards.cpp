#include <algorithm>

#include <mgpu/rewards/registry.hpp>

namespace mgpu::rewards {

WeightedRewards::WeightedRewards(const RewardSettings& settings) : weights_(settings.weights) {
  for (const std::string& name : settings.names)
    rewards_.push_back(std::ranges::find(rewards(), name, &RewardEntry::name)->make(settings));
}

Scores WeightedRewards::score(std::span<const RewardRow> rows) {
  Scores scores{std::vector<double>(rows.size(), 0.0), {}};
  for (std::size_t r = 0; r < rewards_.size(); ++r) {
    scores.parts.push_back(rewards_[r]->score(rows));
    for (std::size_t i = 0; i < rows.size(); ++i)
      scores.total[i] += weights_[r] * scores.parts.back()[i];
  }
  return scores;
}

}  // namespace mgpu::rewards
