#pragma once

#include <cstdint>

#include "inputs.hpp"

namespace mgpu::jobs {

/// The work of agents on all questions, as a plan expects it.
struct AgentWork {
  double read = 0.0;      // tokens of prompts and contexts
  double drawn = 0.0;     // latent steps and tokens, one at a time
  std::int64_t kept = 0;  // bytes of states and tokens that a question keeps until it is journaled
};

/// Returns the work for questions whose agents' prompts have `tokens` tokens in all. Prompts are
/// assumed to be equally long, and texts as long as they may be.
AgentWork expected_work(const CollectInputs& inputs, std::int64_t tokens);

}  // namespace mgpu::jobs
