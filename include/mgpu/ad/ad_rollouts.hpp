#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/rollout_memory.hpp>

namespace mgpu::ad {

/// One run of an agent with frozen weights: its context starts empty and grows over the episodes.
struct Rollout {
  std::uint64_t sample = 0;  // global id, which selects the random draws
  int task = 0;              // task of the environment
  Controls controls{};
};

struct RolloutSettings {
  int episodes = 8;
  std::uint64_t seed = 0;
  std::uint32_t round = 0;  // < 2^24
};

/// The record of one run.
struct RolloutRecord {
  std::vector<std::int32_t> returns;  // [episodes] sum of rewards
  std::vector<std::uint8_t> path;     // [episodes * horizon] the state each step reached
};

/// Plays all runs in one batch: actions are sampled from the softmax, keys and values are cached. A
/// run's record depends only on its sample id, task and controls, up to the rounding of matrix
/// products. For identical bits run the same batch (one chunk).
///
/// Errors: Failure E704 (exit 79) when the logits of the model are not finite.
std::vector<RolloutRecord> play(const AdTransformer& model, const Environment& environment,
                                const WindowRules& rules, std::span<const Rollout> runs,
                                const RolloutSettings& settings);

}  // namespace mgpu::ad
