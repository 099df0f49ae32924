#include <algorithm>
#include <cmath>

#include <mgpu/base/utf8.hpp>
#include <mgpu/rewards/registry.hpp>

namespace mgpu::rewards {
namespace {

/// The reward is 1 for a completion of reward.length characters. It falls linearly to 0 toward the
/// lengths 0 and 2 * reward.length. Longer completions get 0.
class LengthReward final : public Reward {
public:
  explicit LengthReward(std::int64_t length) : length_(static_cast<double>(length)) {}

  std::vector<double> score(std::span<const RewardRow> rows) override {
    std::vector<double> scores;
    for (const RewardRow& row : rows) {
      const auto characters = static_cast<double>(utf8_length(storable(row.completion)));
      scores.push_back(std::max(0.0, 1.0 - std::abs(characters - length_) / length_));
    }
    return scores;
  }

private:
  double length_;
};

}  // namespace

RewardEntry length_reward() {
  return {.name = "length",
          .summary = "1 for reward.length characters, falling to 0 at none and at twice as many",
          .key = "reward.length",
          .make = [](const RewardSettings& settings) -> std::unique_ptr<Reward> {
            return std::make_unique<LengthReward>(settings.length);
          }};
}

}  // namespace mgpu::rewards
