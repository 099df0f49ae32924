#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/cluster/group.hpp>

#include "group_draws.hpp"
#include "recipes/train_state.hpp"
#include "settings.hpp"

namespace mgpu::recipes {

/// A completion of a prompt, with its reward. Log-probabilities are those of the tokens of the
/// completion, in nats.
struct Rollout {
  std::vector<std::int64_t> ids{};  // prompt and completion
  std::int64_t prompt = 0;          // number of tokens of the prompt
  std::vector<double> sampled{};    // log-probabilities by the sampler, at temperature 1
  std::vector<double> old{};        // log-prob. by training's forward pass, with the sampler's
                                    // weights; empty if GrpoSettings::iterations is 1
  std::vector<double> start{};      // log-prob. under the start model; empty if beta is 0
  double reward = std::numeric_limits<double>::quiet_NaN();
  bool is_truncated = false;
  double difference = 0.0;    // result of largest_difference() with `sampled`, nats
  double first_reward = 0.0;  // reward at this batch index before groups were replaced
  std::int64_t refills = 0;   // how many times the completion's group was replaced
};

/// The completions of a global batch as tensors of a checkpoint. A checkpoint between two steps
/// that use the same completions must store the completions, because the weights that sampled them
/// have changed. If GrpoSettings::refills is above 0, a checkpoint also has the prompt numbers with
/// which GroupDraws continues.
///
/// Memory: up to 24 * (global batch) * max_new_tokens bytes, on the host.
class RolloutState {
public:
  /// If GrpoSettings::iterations is 1, each step samples new completions. In this case, tensors()
  /// has no completions, and clear(), put() and add_ranks() do nothing.
  explicit RolloutState(const GrpoSettings& settings);

  std::vector<KeptTensor> tensors() const;

  /// Returns the number of the sampling that made the completions, counted from 0, or -1 if no
  /// completions are stored.
  std::int64_t rollout() const;

  /// Removes all completions, and sets rollout().
  void clear(std::int64_t rollout);
  void put(std::size_t place, const Rollout& row);

  /// Stores the numbers of the prompts of the groups. All ranks store the same numbers.
  void put_draws(const GroupDraws& draws);

  /// Returns the number of the prompt that is drawn next; 0 if GrpoSettings::refills is 0.
  std::uint64_t next_prompt() const;

  /// Returns the number of the prompt of each group; empty if GrpoSettings::iterations is 1 or
  /// GrpoSettings::refills is 0.
  std::vector<std::uint64_t> prompts() const;

  /// Gives every rank the completions of all ranks. Before this call, put() must have stored each
  /// completion on one rank only.
  /// Ranks:  collective over `group`.
  void add_ranks(const cluster::Group& group);

  /// Returns the completion with the batch index `place`. `prompt` has the token ids of its prompt.
  /// Rollout::sampled of the result is empty.
  Rollout get(std::size_t place, std::span<const std::int64_t> prompt) const;

private:
  at::Tensor number_;   // [1] int64, value of rollout()
  at::Tensor lengths_;  // [global batch] int64, tokens of each completion
  at::Tensor ids_;      // [global batch, max_new_tokens] int64
  at::Tensor old_;      // [global batch, max_new_tokens] float64, nats
  at::Tensor start_;    // like old_, under the start model; undefined: none
  at::Tensor facts_;    // [global batch, 3 or 5] float64: reward, is_truncated, difference, and
                        // first_reward and refills if GrpoSettings::refills is above 0
  at::Tensor next_;     // [1] int64, number of the next prompt; undefined: no refills
  at::Tensor prompts_;  // [groups] int64, number of each group's prompt; undefined: no refills, or
                        // GrpoSettings::iterations is 1
};

}  // namespace mgpu::recipes
