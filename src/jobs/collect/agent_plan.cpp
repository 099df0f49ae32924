#include "agent_plan.hpp"

#include <algorithm>

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kBytesOfToken = 12;  // id and log-probability

/// Returns the largest number of prompts that the model reads for one question, summed over all
/// agents.
double prompts_of(const CollectKeys& keys, std::int64_t agents) {
  if (!keys.agents.thinks()) return static_cast<double>(keys.num_paths * (agents - 1) + 1);
  if (keys.agents.diversity == Diversity::none) return static_cast<double>(agents);
  const std::int64_t thinkers = std::max<std::int64_t>(agents - 2, 0) * keys.agents.num_parents;
  return static_cast<double>(1 + thinkers + (agents > 1 ? keys.num_paths : 0));
}

}  // namespace

AgentWork expected_work(const CollectInputs& inputs, std::int64_t tokens) {
  const CollectKeys& keys = inputs.keys;
  const bool is_single = keys.agents.method == AgentMethod::single;
  const std::int64_t agents = is_single ? 1 : std::ssize(inputs.agents);
  const auto questions = static_cast<double>(inputs.questions());
  const std::int64_t texts = keys.num_paths * keys.max_new_tokens;
  AgentWork work;
  work.read = static_cast<double>(tokens) / static_cast<double>(agents) * prompts_of(keys, agents);
  if (keys.agents.thinks()) {
    const bool has_noise = keys.agents.diversity != Diversity::none;
    const std::int64_t steps = (agents - 1) * keys.agents.steps * (has_noise ? keys.num_paths : 1);
    work.drawn = questions * static_cast<double>(steps + texts);
    work.kept = texts * kBytesOfToken + steps * inputs.model.hidden_size * 4;
  } else {
    work.read += questions * static_cast<double>(texts * (agents - 1) * agents) / 2.0;
    work.drawn = questions * static_cast<double>(agents * texts);
    work.kept = agents * texts * kBytesOfToken;
  }
  return work;
}

}  // namespace mgpu::jobs
