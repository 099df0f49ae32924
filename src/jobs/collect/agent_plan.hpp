#pragma once

#include <cstdint>

#include "inputs.hpp"

namespace mgpu::jobs {

/// The work of agents on all questions, as a plan expects it.
struct AgentWork {
  double read = 0.0;      // tokens of prompts and contexts
  double drawn = 0.0;     // latent steps and tokens, which are made one at a time
  std::int64_t kept = 0;  // bytes of states and tokens that a question keeps until it is journaled
};

/// Returns the work for all questions. `tokens` is the number of tokens in all prompts of all
/// agents. It assumes that prompts are equally long, and that texts have the maximum length.
AgentWork expected_work(const CollectInputs& inputs, std::int64_t tokens);

}  // namespace mgpu::jobs
