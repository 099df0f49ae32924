#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/rows/prompt_encoder.hpp>

namespace mgpu::jobs {

/// The tokens of an agent's prompt. If the agent reads the texts of the agents before it, the
/// tokens of these texts come between `before` and `after`.
struct AgentPrompt {
  std::vector<std::int64_t> before{};
  std::vector<std::int64_t> after{};  // empty unless reads_texts
  bool reads_texts = false;           // true: the method is text_mas, and the prompt has {context}

  std::int64_t size() const { return std::ssize(before) + std::ssize(after); }
};

/// A question as tokens. With agents, `ids` has the tokens of all agents' prompts.
struct Question : rows::EncodedPrompt {
  std::vector<AgentPrompt> agents{};  // empty: the run has no agents
  /// Number of tokens before the text that the model draws. Without agents, this is the size of
  /// `ids`. With agents, it is the largest value for any agent (AgentEncoder::longest_of()).
  std::int64_t longest = 0;
};

}  // namespace mgpu::jobs
