#include "agent_keys.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kParents = 5;  // largest value that collect.num_parent_paths=auto chooses

/// Returns the element of `values` whose name_of() is the value of `key`.
template <class Value>
Value choice_of(const Config& config, const char* key, std::initializer_list<Value> values) {
  for (const Value value : values)
    if (config.is(key, name_of(value))) return value;
  throw Error(std::string("a value without a meaning for ") + key);
}

std::optional<double> number_or_null(const Config& config, const char* key) {
  if (config.is(key, "null")) return std::nullopt;
  return config.number(key);
}

LatentStore read_store(const Config& config) {
  if (config.is("collect.latent.store", "none")) return LatentStore::none;
  return config.is("collect.latent.store", "f16") ? LatentStore::f16 : LatentStore::f32;
}

/// Refuses a key that begins with one of `names` if its value is not the default.
void refuse_keys(const Config& config, std::initializer_list<std::string_view> names,
                 const char* why, const char* help) {
  for (const std::string& key : config.not_default())
    for (const std::string_view name : names)
      if (key.starts_with(name)) throw config.problem("E124", key, key + " " + why, help);
}

void check_text_steps(const Config& config) {
  if (!config.is("collect.steps", "text")) return;
  refuse_keys(config, {"collect.agents.", "collect.latent.", "collect.num_parent_paths"},
              "means nothing for steps of text", "collect.steps=latent");
}

void check_latent_steps(const Config& config) {
  if (config.is("collect.steps", "text")) return;
  refuse_keys(config,
              {"collect.split", "collect.step_tokens", "collect.max_steps", "collect.label",
               "collect.rollouts", "collect.omega."},
              "means nothing for agents, whose steps are not pieces of a text",
              "collect.steps=text");
}

void check_method(const Config& config) {
  if (config.is("collect.steps", "text") || config.is("collect.agents.method", "latent_mas"))
    return;
  refuse_keys(config, {"collect.latent.", "collect.agents.carry", "collect.num_parent_paths"},
              "means nothing for agents without latent steps", "collect.agents.method=latent_mas");
}

void check_noise(const Config& config) {
  if (!config.is("collect.latent.diversity", "none")) return;
  refuse_keys(
      config,
      {"collect.latent.temperature", "collect.latent.pruning", "collect.latent.branch_entropy",
       "collect.latent.merge_similarity", "collect.num_parent_paths"},
      "means nothing without noise, because an agent has one path",
      "collect.latent.diversity=hybrid");
}

void add_method_keys(KeyTable& table) {
  table.add({.name = "collect.agents.path",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "file of agents and their prompts (JSON), with collect.steps=latent; null: "
                        "planner, critic, refiner and judger with prompts of the program's own",
             .choices = {"null"}});
  table.add({.name = "collect.agents.method",
             .type = KeyType::choice,
             .default_value = "latent_mas",
             .summary =
                 "how agents work: latent_mas thinks in hidden states, text_mas writes texts "
                 "that the next agents read, and single has the last agent only",
             .choices = {"latent_mas", "text_mas", "single"}});
  table.add({.name = "collect.agents.carry",
             .type = KeyType::choice,
             .default_value = "all",
             .summary = "keys and values that an agent gets: of all agents before it, of their "
                        "latent steps, or of the agent before it",
             .choices = {"all", "latent_only", "last_agent"}});
  table.add({.name = "collect.num_parent_paths",
             .type = KeyType::integer,
             .default_value = "auto",
             .summary = "paths of an agent, those with the highest scores, that the next agent "
                        "continues; auto: 5, or all if there are fewer",
             .min = 1,
             .max = 4096,
             .choices = {"auto"}});
}

void add_latent_keys(KeyTable& table) {
  table.add({.name = "collect.latent.steps",
             .type = KeyType::integer,
             .default_value = "5",
             .summary = "latent steps of each agent but the last",
             .unit = "steps",
             .min = 1,
             .max = 4096});
  table.add({.name = "collect.latent.realign",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "map hidden states to input embeddings by least squares; false: scale "
                        "them only"});
  table.add({.name = "collect.latent.diversity",
             .type = KeyType::choice,
             .default_value = "hybrid",
             .summary = "noise that makes paths different: in proportion to the spread of a state "
                        "(temperature), of fixed size (noise), both (hybrid), or none",
             .choices = {"none", "temperature", "noise", "hybrid"}});
  table.add({.name = "collect.latent.temperature",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "T0 of the noise: the temperature of a path is in [T0 - 0.3, T0 + 0.3]",
             .min = 0.31,
             .max = 1e2});
  table.add({.name = "collect.latent.pruning",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "keep a share of the paths after each agent, and one before the answer"});
  table.add({.name = "collect.latent.branch_entropy",
             .type = KeyType::number,
             .default_value = "null",
             .summary = "divide only paths whose latent steps predict the next token with a larger "
                        "mean entropy; the others continue as one path; null: divide all evenly",
             .unit = "nats",
             .min = 0,
             .max = 1e2,
             .choices = {"null"}});
  table.add({.name = "collect.latent.merge_similarity",
             .type = KeyType::number,
             .default_value = "null",
             .summary = "merge paths of the second agent whose mean states have at least this "
                        "cosine; null: merge none",
             .min = -1,
             .max = 1,
             .choices = {"null"}});
  table.add({.name = "collect.latent.store",
             .type = KeyType::choice,
             .default_value = "f16",
             .summary = "type of the hidden states in results.h5",
             .choices = {"none", "f16", "f32"}});
}

}  // namespace

const char* name_of(AgentMethod method) {
  constexpr std::array kNames{"latent_mas", "text_mas", "single"};
  return kNames.at(static_cast<std::size_t>(method));
}

const char* name_of(Carry carry) {
  constexpr std::array kNames{"all", "latent_only", "last_agent"};
  return kNames.at(static_cast<std::size_t>(carry));
}

const char* name_of(Diversity diversity) {
  constexpr std::array kNames{"none", "temperature", "noise", "hybrid"};
  return kNames.at(static_cast<std::size_t>(diversity));
}

void add_agent_keys(KeyTable& table) {
  add_method_keys(table);
  add_latent_keys(table);
}

void check_agent_keys(const Config& config) {
  check_all({[&] { check_text_steps(config); }, [&] { check_latent_steps(config); },
             [&] { check_method(config); }, [&] { check_noise(config); }});
}

void check_parent_paths(const Config& config, std::int64_t num_paths) {
  if (config.is("collect.num_parent_paths", "auto")) return;
  if (config.integer("collect.num_parent_paths") <= num_paths) return;
  throw config.problem("E124", "collect.num_parent_paths",
                       "an agent has only " + report::grouped(num_paths) +
                           " paths (collect.num_paths) that the next one can continue",
                       "collect.num_parent_paths=" + std::to_string(num_paths));
}

AgentKeys read_agent_keys(const Config& config, std::int64_t num_paths) {
  AgentKeys keys;
  keys.is_used = config.is("collect.steps", "latent");
  if (!config.is("collect.agents.path", "null")) keys.path = config.text("collect.agents.path");
  keys.method = choice_of(config, "collect.agents.method",
                          {AgentMethod::latent_mas, AgentMethod::text_mas, AgentMethod::single});
  keys.carry = choice_of(config, "collect.agents.carry",
                         {Carry::all, Carry::latent_only, Carry::last_agent});
  keys.num_parents = config.is("collect.num_parent_paths", "auto")
                         ? std::min(kParents, num_paths)
                         : config.integer("collect.num_parent_paths");
  keys.steps = config.integer("collect.latent.steps");
  keys.realigns = config.flag("collect.latent.realign");
  keys.diversity =
      choice_of(config, "collect.latent.diversity",
                {Diversity::none, Diversity::temperature, Diversity::noise, Diversity::hybrid});
  keys.temperature = config.number("collect.latent.temperature");
  keys.prunes = config.flag("collect.latent.pruning");
  keys.branch_entropy = number_or_null(config, "collect.latent.branch_entropy");
  keys.merge_similarity = number_or_null(config, "collect.latent.merge_similarity");
  keys.store = read_store(config);
  return keys;
}

std::string agents_text(const AgentKeys& keys) {
  std::string text = std::string("agents ") + name_of(keys.method);
  if (!keys.thinks()) return text;
  text += ", " + report::grouped(keys.steps) + " latent steps, carry " + name_of(keys.carry) +
          ", diversity " + name_of(keys.diversity);
  if (keys.diversity != Diversity::none)
    text += ", " + report::grouped(keys.num_parents) + " parent paths";
  if (!keys.realigns) text += ", not realigned";
  if (keys.prunes) text += ", pruned";
  if (keys.branch_entropy) text += report::text_of(", divided above %g nats", *keys.branch_entropy);
  if (keys.merge_similarity)
    text += report::text_of(", merged from cosine %g", *keys.merge_similarity);
  return text;
}

}  // namespace mgpu::jobs
