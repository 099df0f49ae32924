#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent_keys.hpp"

namespace mgpu::jobs {

/// Stands for the texts of other agents while a prompt is rendered. Prompts and questions may not
/// have it.
inline constexpr const char* kContextMark = "\x1e";

/// An agent that works on each question. Its prompt may have the placeholders {question} and
/// {context}.
struct Agent {
  std::string name;
  std::string system_prompt{};
  std::string prompt;
};

/// Returns planner, critic, refiner and judger.
std::vector<Agent> default_agents();

/// Parses a file of agents: {"agents": [{"name", "prompt", "system_prompt"}]}. The last agent is
/// called `judger` and answers. It has the placeholder {question}. With text_mas, each agent but
/// the first has the placeholder {context}.
/// Errors: Failure E538 (exit 65) that names the agent and what is wrong.
std::vector<Agent> parse_agents(const std::filesystem::path& path, const std::string& file,
                                AgentMethod method);

/// Replaces {question} and {context} in a prompt. {{ and }} stand for braces.
std::string filled_prompt(const std::string& prompt, const std::string& question,
                          const std::string& context);

}  // namespace mgpu::jobs
