#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/rollout_memory.hpp>

namespace mgpu::ad {

/// One run of an agent with frozen weights: its context starts empty and grows over episodes.
struct Rollout {
  std::uint64_t sample = 0;  // global id, keys the random draws
  int task = 0;              // of the environment
  Controls controls{};
};

struct RolloutSettings {
  int episodes = 8;
  std::uint64_t seed = 0;
  std::uint32_t round = 0;  // < 2^24
};

/// What happened in one run.
struct RolloutRecord {
  std::vector<std::int32_t> returns;  // [episodes] sum of rewards
  std::vector<std::uint8_t> path;     // [episodes * horizon] the state each step reached
};

/// Plays all runs side by side: actions are sampled from the softmax, keys and values cached.
///
/// A run's record depends on its sample id, task and controls only, up to the rounding of matrix
/// products: run the same batch (one chunk) to get the same bits.
///
/// Errors: Failure E704 (exit 79) when the model's logits are no distribution.
std::vector<RolloutRecord> play(const AdTransformer& model, const Environment& environment,
                                const WindowRules& rules, std::span<const Rollout> runs,
                                const RolloutSettings& settings);

}  // namespace mgpu::ad
