#include <limits>
#include <stdexcept>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/rewards/registry.hpp>
#include <mgpu/text/text_pattern.hpp>

namespace mgpu::rewards {
namespace {

class RegexReward final : public Reward {
public:
  explicit RegexReward(text::TextPattern pattern) : pattern_(std::move(pattern)) {}

  std::vector<double> score(std::span<const RewardRow> rows) override {
    using Found = text::TextPattern::Found;
    std::vector<double> scores;
    for (const RewardRow& row : rows) {
      const Found found = pattern_.find(row.completion);
      scores.push_back(found == Found::gave_up ? std::numeric_limits<double>::quiet_NaN()
                       : found == Found::yes   ? 1.0
                                               : 0.0);
    }
    return scores;
  }

private:
  text::TextPattern pattern_;
};

std::unique_ptr<Reward> make_regex(const RewardSettings& settings) {
  try {
    return std::make_unique<RegexReward>(text::TextPattern(settings.regex));
  } catch (const std::invalid_argument& problem) {
    throw Failure({"E107",
                   ExitCode::config,
                   std::string("`reward.regex` is no regular expression: ") + problem.what(),
                   {"  reward.regex: " + settings.regex},
                   "reward.regex='[0-9]+'"});
  }
}

}  // namespace

RewardEntry regex_reward() {
  return {.name = "regex",
          .summary = "1 if reward.regex is found in the completion",
          .key = "reward.regex",
          .make = make_regex};
}

}  // namespace mgpu::rewards
