#include <mgpu/rewards/registry.hpp>

namespace mgpu::rewards {

RewardEntry model_reward() {
  return {.name = "model",
          .summary = "the output of the reward model of reward.model",
          .key = "reward.model"};
}

}  // namespace mgpu::rewards
