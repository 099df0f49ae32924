#include "keys.hpp"

#include <algorithm>

namespace mgpu::recipes {

void add_reward_model_keys(KeyTable& table) {
  table.add({.name = "reward_model.center_weight",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "weight of the squared sum of both rewards of a pair, which is added to "
                        "the loss and keeps the mean reward near 0",
             .min = 0,
             .max = 1e3,
             .foreign = {{"center_rewards_coefficient", "TRL",
                          "here it is `reward_model.center_weight`, with recipe reward"}}});
}

bool has_reward_model_keys(const Config& config) {
  const auto names = config.not_default();
  return std::ranges::any_of(names,
                             [](const auto& name) { return name.starts_with("reward_model."); });
}

RewardModelSettings read_reward_model_settings(const Config& config) {
  return {.center_weight = config.number("reward_model.center_weight")};
}

}  // namespace mgpu::recipes
