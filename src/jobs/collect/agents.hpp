#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "agent_keys.hpp"

namespace mgpu::jobs {

/// The character that stands for {context} (the texts of other agents) while a prompt is rendered.
/// Prompts and questions must not contain this character. The character is not white space, because
/// many chat templates remove white space from the ends of a message.
inline constexpr const char* kContextMark = "\x02";

/// An agent that works on each question. Its prompt may have the placeholders {question} and
/// {context}.
struct Agent {
  std::string name;
  std::string system_prompt{};
  std::string prompt;
};

/// Returns the agents planner, critic, refiner and judger, with built-in prompts.
std::vector<Agent> default_agents();

/// Parses the file of agents with the path `path` and the content `file`: {"agents": [{"name",
/// "prompt", "system_prompt"}]}. Member `system_prompt` may be missing. There may be at most 32
/// agents, with different names. A prompt may contain {context} only once, and no placeholder other
/// than {question} and {context}. The last agent must be called `judger`. The judger gives the
/// answer, and its prompt must contain {question}. With text_mas and more than one agent, the
/// prompt of the judger must also contain {context}. The keys collect.latent.branch_entropy and
/// collect.latent.merge_similarity need at least two agents before the judger.
///
/// Errors: Failure E538 (exit 65) if the file breaks one of these rules.
std::vector<Agent> parse_agents(const std::filesystem::path& path, const std::string& file,
                                const AgentKeys& keys);

/// Returns a prompt in which {question} and {context} are replaced by the arguments. {{ and }}
/// become single braces.
std::string filled_prompt(const std::string& prompt, const std::string& question,
                          const std::string& context);

}  // namespace mgpu::jobs
