#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/rewards/registry.hpp>

namespace mgpu::rewards {
namespace {

const RewardEntry& entry_of(const std::string& name) {
  return *std::ranges::find(rewards(), name, &RewardEntry::name);
}

}  // namespace

void check_rewards(const RewardSettings& settings) {
  for (const std::string& name : settings.names)
    if (entry_of(name).make != nullptr) entry_of(name).make(settings);
}

WeightedRewards::WeightedRewards(const RewardSettings& settings, std::unique_ptr<Reward> of_model)
    : weights_(settings.weights) {
  for (const std::string& name : settings.names) {
    const RewardEntry& entry = entry_of(name);
    if (entry.make == nullptr && of_model == nullptr)
      throw Error("WeightedRewards: reward `" + name + "` was not made");
    rewards_.push_back(entry.make == nullptr ? std::move(of_model) : entry.make(settings));
  }
}

void WeightedRewards::start() {
  for (const std::unique_ptr<Reward>& reward : rewards_)
    reward->start();
}

void WeightedRewards::check_started() {
  for (const std::unique_ptr<Reward>& reward : rewards_)
    reward->check_started();
}

Scores WeightedRewards::score(std::span<const RewardRow> rows) {
  Scores scores{std::vector<double>(rows.size(), 0.0), {}};
  for (std::size_t r = 0; r < rewards_.size(); ++r) {
    scores.parts.push_back(rewards_[r]->score(rows));
    if (weights_[r] == 0.0) continue;  // 0 * NaN would make the total NaN
    for (std::size_t i = 0; i < rows.size(); ++i)
      scores.total[i] += weights_[r] * scores.parts.back()[i];
  }
  return scores;
}

}  // namespace mgpu::rewards
