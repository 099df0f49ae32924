#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rollout_state.hpp"

namespace mgpu::recipes {

/// A completion in a message between ranks.
struct SentRollout {
  std::size_t place = 0;  // index in the global batch
  double reward = 0.0;    // NaN: no score
  bool is_truncated = false;
  std::vector<std::int64_t> ids{};  // of the completion; empty if the sender keeps the completion
  std::vector<double> sampled{};    // log-probabilities of the sampler, one per id
};

/// Appends a completion to `bytes`, without its ids and log-probabilities. Call this function
/// if the sending rank keeps the completion.
void append_reward(std::size_t place, const Rollout& row, std::string& bytes);

/// Appends a completion to `bytes`, with its ids and log-probabilities. Call this function if
/// another rank may keep the completion.
void append_rollout(std::size_t place, const Rollout& row, std::string& bytes);

/// Returns the completions of a message, in order.
std::vector<SentRollout> rollouts_from(std::string_view bytes);

}  // namespace mgpu::recipes
