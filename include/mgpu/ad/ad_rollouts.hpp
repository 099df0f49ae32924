#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/ad/ad_transformer.hpp>
#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/rollout_memory.hpp>

namespace mgpu::ad {

/// One rollout: an agent with frozen weights plays several episodes of one task. The context that
/// the model sees starts empty, and each step is added to it. RolloutMemory drops old steps when
/// the context is full.
struct Rollout {
  std::uint64_t sample = 0;  // id of the rollout in the whole run; selects its random draws
  int task = 0;              // task of the environment
  Controls controls{};
};

struct RolloutSettings {
  int episodes = 8;
  std::uint64_t seed = 0;
  std::uint32_t round = 0;  // like `seed`, selects the random draws (see RandomStream); < 2^24
};

/// The record of one rollout.
struct RolloutRecord {
  std::vector<std::int32_t> returns;  // [episodes] sum of the rewards of each episode
  std::vector<std::uint8_t> path;     // [episodes * horizon] number of the state after each step
};

/// Plays all rollouts `runs` in one batch with a KV cache, and returns one record for each. Each
/// action is drawn from the softmax of the logits.
///
/// The random draws of a rollout depend only on its sample id and on `settings`, not on the other
/// rollouts in `runs`. But the rounding of matrix products may depend on the batch. For
/// reproducible records, pass exactly the rollouts of one chunk (a fixed range of sample ids) in
/// each call.
///
/// Errors: Failure E704 (exit 79) when a row of logits has NaN or +infinity, or only -infinity.
std::vector<RolloutRecord> play(const AdTransformer& model, const Environment& environment,
                                const WindowRules& rules, std::span<const Rollout> runs,
                                const RolloutSettings& settings);

}  // namespace mgpu::ad
