#include <mgpu/datasets/answers.hpp>
#include <mgpu/rewards/registry.hpp>

namespace mgpu::rewards {
namespace {

class MatchReward final : public Reward {
public:
  std::vector<double> score(std::span<const RewardRow> rows) override {
    std::vector<double> scores;
    for (const RewardRow& row : rows)
      scores.push_back(datasets::is_right(row.completion, row.answer) ? 1.0 : 0.0);
    return scores;
  }
};

}  // namespace

RewardEntry match_reward() {
  return {.name = "match",
          .summary = "1 if the completion states the row's `answer`",
          .needs_answers = true,
          .make = [](const RewardSettings& /*settings*/) -> std::unique_ptr<Reward> {
            return std::make_unique<MatchReward>();
          }};
}

}  // namespace mgpu::rewards
