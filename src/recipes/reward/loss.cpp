#include "loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "recipes/lm/logistic.hpp"

namespace mgpu::recipes {
namespace {

// The constants kModelReward and kPairMargin are indices in the result of RewardModelLoss::facts().
constexpr std::size_t kModelReward = 0;
constexpr std::size_t kPairMargin = 1;

}  // namespace

std::vector<ReportedValue> RewardModelLoss::reported_values() {
  const char* const rewards = "Rewards";
  return {{"reward_margin", "margin", "mean of chosen minus rejected reward", "", rewards},
          {"mean_reward", "mean_reward", "mean reward of all completions", "", rewards},
          {"min_reward", "min_reward", "smallest reward", "", rewards},
          {"max_reward", "max_reward", "largest reward", "", rewards},
          {"std_reward", "std_reward", "standard deviation of the rewards", "", rewards}};
}

std::vector<double> RewardModelLoss::facts(const lm::MeasuredSequence& sequence) const {
  return {sequence.head[0], sequence.sequence_column(kMarginColumn)};
}

std::vector<double> RewardModelLoss::digest(const lm::SequenceTable& all) const {
  const auto pairs = static_cast<double>(all.num_groups());
  const auto sequences = static_cast<double>(all.rows().size());
  double margin = 0.0;
  for (std::size_t group = 0; group < all.num_groups(); ++group) {
    const auto pair = all.group(group);
    margin += (pair[0].values[kModelReward] - pair[1].values[kModelReward]) / pairs;
  }
  double mean = 0.0;
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  for (const lm::SequenceFacts& row : all.rows()) {
    mean += row.values[kModelReward] / sequences;
    least = std::min(least, row.values[kModelReward]);
    most = std::max(most, row.values[kModelReward]);
  }
  double variance = 0.0;
  for (const lm::SequenceFacts& row : all.rows())
    variance += (row.values[kModelReward] - mean) * (row.values[kModelReward] - mean) / sequences;
  return {margin, mean, least, most, std::sqrt(variance)};
}

lm::SequenceTerm RewardModelLoss::weigh(const lm::MeasuredSequence& /*sequence*/,
                                        const lm::SequencePlace& place) const {
  const auto pair = place.group();
  const double chosen = pair[0].values[kModelReward];
  const double rejected = pair[1].values[kModelReward];
  const double excess = chosen - rejected - pair[0].values[kPairMargin];
  const double sum = chosen + rejected;
  const double slope_of_center = 2.0 * settings_.center_weight * sum;
  if (place.member() == 1) return {.head = {sigmoid(-excess) + slope_of_center}};
  return {.loss = softplus(-excess) + settings_.center_weight * sum * sum,
          .correct = chosen > rejected ? 1 : 0,
          .head = {-sigmoid(-excess) + slope_of_center}};
}

}  // namespace mgpu::recipes
