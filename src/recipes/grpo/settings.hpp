#pragma once

#include <cstdint>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/rewards/registry.hpp>

#include "advantages.hpp"
#include "policy_loss.hpp"

namespace mgpu::recipes {

/// The settings of recipe `grpo`.
struct GrpoSettings {
  PolicyVariant variant = PolicyVariant::grpo;
  RewardScale scale = RewardScale::group;
  ClipRange clip{};
  double beta = 0.0;             // weight of the distance from the start model; 0: none
  std::int64_t group_size = 8;   // number of completions of a prompt
  std::int64_t iterations = 1;   // number of optimizer steps that use the same completions
  std::int64_t refills = 0;      // maximum number of rounds that replace groups of equal rewards
  bool masks_truncated = false;  // true: nothing is learned from completions that were cut off
  /// The reward gets a penalty that grows over the last `overlong_tokens` of max_new_tokens tokens.
  /// 0: no penalty.
  std::int64_t overlong_tokens = 0;
  lm::GenerationConfig sampling{};  // how completions are sampled; the stop ids are not set
  rewards::RewardSettings rewards{};
  std::int64_t global_batch = 0;  // train.global_batch_size
  std::int64_t lanes = 1;         // train.lanes
};

}  // namespace mgpu::recipes
