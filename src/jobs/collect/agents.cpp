#include "agents.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/rows/json_fields.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonError;
using formats::JsonValue;

constexpr std::size_t kMostAgents = 32;  // below 64: stream_of_agent() has 6 bits for an agent
constexpr const char* kJudger = "judger";

[[noreturn]] void refuse_agents(const std::filesystem::path& path, const std::string& why,
                                const std::string& help) {
  throw Failure({"E538",
                 ExitCode::data,
                 "the agents cannot be used: " + why,
                 {"  --> " + path.string()},
                 help});
}

/// Returns the name of the placeholder with which a text begins: "question" for {question}. Returns
/// "" if the text does not begin with a placeholder.
std::string placeholder_at(std::string_view text) {
  if (!text.starts_with('{')) return "";
  std::size_t end = 1;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
    ++end;
  const bool is_closed = end < text.size() && text[end] == '}';
  return is_closed ? std::string(text.substr(1, end - 1)) : "";
}

/// Returns the names of the placeholders of a prompt, in their order in the prompt. {{ and }} stand
/// for braces and begin no placeholder.
std::vector<std::string> placeholders_of(const std::string& prompt) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < prompt.size(); ++at) {
    const std::string_view rest = std::string_view(prompt).substr(at);
    if (rest.starts_with("{{") || rest.starts_with("}}"))
      ++at;
    else if (const std::string name = placeholder_at(rest); !name.empty())
      names.push_back(name);
  }
  return names;
}

Agent agent_of(const JsonValue& object) {
  Agent agent;
  agent.name = rows::text_of(object.find("name"), "name");
  agent.prompt = rows::text_of(object.find("prompt"), "prompt");
  if (const JsonValue* system = rows::member_of(object, "system_prompt"))
    agent.system_prompt = rows::text_of(system, "system_prompt");
  for (const auto& [name, value] : *object.members())
    if (name != "name" && name != "prompt" && name != "system_prompt")
      throw JsonError("agent `" + agent.name + "` has the unknown member `" + name + "`");
  if ((agent.prompt + agent.system_prompt).find(kContextMark) != std::string::npos)
    throw JsonError("agent `" + agent.name + "` has the control character U+0002");
  return agent;
}

std::vector<Agent> agents_of(const JsonValue& file) {
  const JsonValue* list = rows::member_of(file, "agents");
  if (list == nullptr || list->list() == nullptr || list->list()->empty())
    throw JsonError("`agents` is not a list with an agent");
  if (list->list()->size() > kMostAgents) throw JsonError("there are more than 32 agents");
  std::vector<Agent> agents;
  for (const JsonValue& object : *list->list()) {
    if (object.members() == nullptr) throw JsonError("an agent is not an object");
    agents.push_back(agent_of(object));
  }
  return agents;
}

void check_names(const std::filesystem::path& path, const std::vector<Agent>& agents) {
  std::set<std::string> names;
  for (const Agent& agent : agents)
    if (!names.insert(agent.name).second)
      refuse_agents(path, "two agents are called `" + agent.name + "`",
                    "another name for one of them");
  if (!names.contains(kJudger))
    refuse_agents(path, "there is no judger, the agent that answers",
                  R"({"name": "judger", "prompt": "... {question} ..."} as the last agent)");
  if (agents.back().name != kJudger)
    refuse_agents(path, "the judger is not the last agent",
                  "put agent `judger` at the end of the list");
}

void check_placeholders(const std::filesystem::path& path, const Agent& agent) {
  const std::vector<std::string> known{"question", "context"};
  const std::vector<std::string> used = placeholders_of(agent.prompt);
  for (const std::string& name : used) {
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::string nearest = nearest_name(name, known);
    refuse_agents(
        path, "agent `" + agent.name + "` has the unknown placeholder {" + name + "}",
        "{" + (nearest.empty() ? "question" : nearest) + "}, or {{" + name + "}} for braces");
  }
  if (std::ranges::count(used, "context") > 1)
    refuse_agents(path, "agent `" + agent.name + "` has {context} more than once", "one {context}");
  if (agent.name == kJudger && std::ranges::count(used, "question") == 0)
    refuse_agents(path, "the judger does not see the question",
                  "{question} in the prompt of the judger");
}

/// Refuses a judger whose prompt has no {context}, because such a judger does not read the texts of
/// the other agents. Only method text_mas needs this check.
void check_context(const std::filesystem::path& path, const std::vector<Agent>& agents) {
  if (agents.size() < 2) return;
  const std::vector<std::string> used = placeholders_of(agents.back().prompt);
  if (std::ranges::count(used, "context") == 0)
    refuse_agents(path, "the judger does not see the texts of the agents before it",
                  "{context} in the prompt of the judger, or collect.agents.method=latent_mas");
}

/// Refuses the keys branch_entropy and merge_similarity if there are fewer than two agents before
/// the judger. The second agent is the first one that divides paths by entropy or merges paths.
void check_branching(const std::filesystem::path& path, const std::vector<Agent>& agents,
                     const AgentKeys& keys) {
  const bool needs_two = keys.branch_entropy.has_value() || keys.merge_similarity.has_value();
  if (!needs_two || agents.size() > 2) return;
  refuse_agents(path,
                std::string(keys.branch_entropy ? "collect.latent.branch_entropy"
                                                : "collect.latent.merge_similarity") +
                    " needs two agents before the judger",
                "another agent before the judger, or without this key");
}

}  // namespace

std::vector<Agent> default_agents() {
  return {
      {"planner", "", "Question: {question}\nPlan the steps that lead to the answer.\n"},
      {"critic", "",
       "Question: {question}\n{context}Look for mistakes in the plan, and name them.\n"},
      {"refiner", "", "Question: {question}\n{context}Write a better plan.\n"},
      {kJudger, "",
       "Question: {question}\n{context}Follow the plan. End with a line #### and the answer.\n"}};
}

std::vector<Agent> parse_agents(const std::filesystem::path& path, const std::string& file,
                                const AgentKeys& keys) {
  std::vector<Agent> agents;
  try {
    agents = agents_of(formats::parse_json_object(file));
  } catch (const JsonError& error) {
    refuse_agents(path, error.why(),
                  R"({"agents": [..., {"name": "judger", "prompt": "... {question} ..."}]})");
  }
  check_names(path, agents);
  for (const Agent& agent : agents)
    check_placeholders(path, agent);
  if (keys.method == AgentMethod::text_mas) check_context(path, agents);
  check_branching(path, agents, keys);
  return agents;
}

std::string filled_prompt(const std::string& prompt, const std::string& question,
                          const std::string& context) {
  std::string filled;
  for (std::size_t at = 0; at < prompt.size(); ++at) {
    const std::string_view rest = std::string_view(prompt).substr(at);
    const std::string name = placeholder_at(rest);
    if (rest.starts_with("{{") || rest.starts_with("}}")) {
      filled += rest.front();
      ++at;
    } else if (name == "question" || name == "context") {
      filled += name == "question" ? question : context;
      at += name.size() + 1;
    } else {
      filled += rest.front();
    }
  }
  return filled;
}

}  // namespace mgpu::jobs
