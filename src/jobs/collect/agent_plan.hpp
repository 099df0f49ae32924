#pragma once

#include <cstdint>

#include "inputs.hpp"

namespace mgpu::jobs {

/// The estimated work of the agents on all questions, for --plan.
struct AgentWork {
  double read = 0.0;      // tokens that the model prefills: prompts, and texts of earlier agents
  double drawn = 0.0;     // latent steps and generated tokens, one forward pass each
  std::int64_t kept = 0;  // bytes of states and tokens of one question, in memory until the
                          // question is in the journal
};

/// Returns the work for all questions. `tokens` is the number of tokens in the prompts of all
/// agents for all questions. The estimate assumes that prompts are equally long, and that generated
/// texts have the maximum length.
AgentWork expected_work(const CollectInputs& inputs, std::int64_t tokens);

}  // namespace mgpu::jobs
