#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/rollout_memory.hpp>

namespace mgpu::ad {

/// One rollout of an agent with frozen weights. Its context starts empty and grows over the
/// episodes.
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

/// The record of one rollout.
struct RolloutRecord {
  std::vector<std::int32_t> returns;  // [episodes] sum of rewards
  std::vector<std::uint8_t> path;     // [episodes * horizon] the state that each step reached
};

/// Plays all rollouts in one batch, with a KV cache. Each action is drawn from the softmax of the
/// logits. A rollout's record depends only on its sample id, task and controls, up to the rounding
/// of matrix products. Its bits are equal only if the batch holds the same rollouts, so callers
/// pass one chunk.
///
/// Errors: Failure E704 (exit 79) when the logits of the model are not finite.
std::vector<RolloutRecord> play(const AdTransformer& model, const Environment& environment,
                                const WindowRules& rules, std::span<const Rollout> runs,
                                const RolloutSettings& settings);

}  // namespace mgpu::ad
