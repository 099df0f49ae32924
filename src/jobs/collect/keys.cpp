#include "keys.hpp"

#include <mgpu/config/check_all.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/lm/cache/cache_key.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kStepTokens = 16;  // value for collect.step_tokens=auto

rows::ModelRowKeys read_question_rows(const Config& config) {
  rows::ModelRowKeys keys = rows::read_model_row_keys(config);
  keys.options.one_of = {"prompt", "messages", "token_ids"};
  keys.options.keeps = {"id", "label"};
  if (keys.dataset) {
    keys.options.may_have = {"answer"};
  } else {
    keys.options.all_of = {"answer"};
  }
  return keys;
}

/// Refuses a data set (data.dataset) that cannot check answers, and the keys that
/// check_model_keys() refuses.
void check_judged_rows(const Config& config) {
  rows::check_model_keys(config, "data.path=FILE, with a `prompt` and an `answer` in each row");
  const auto chosen = datasets::read_dataset(config, datasets::Split::test);
  if (!chosen || chosen->dataset->has_check()) return;
  const std::string key = datasets::key_of_dataset(config);
  throw config.problem("E124", key,
                       "steps are labeled by right and wrong answers, and this data set does not "
                       "check answers",
                       "data.dataset=arithmetic, or data.path=FILE with a column `answer`");
}

void check_step_tokens(const Config& config) {
  if (config.is("collect.step_tokens", "auto") || config.is("collect.split", "tokens")) return;
  throw config.problem("E124", "collect.step_tokens",
                       "steps are lines, whose number of tokens is not fixed",
                       "collect.split=tokens");
}

std::int64_t num_paths_of(const Config& config) {
  return config.integer("collect.num_paths");
}

StepLabel read_label(const Config& config) {
  for (const StepLabel label : {StepLabel::math_shepherd_hard, StepLabel::math_shepherd_soft,
                                StepLabel::monte_carlo, StepLabel::omega_prm})
    if (config.is("collect.label", name_of(label))) return label;
  throw Error("a value of collect.label without a label");
}

void add_step_keys(KeyTable& table) {
  table.add({.name = "collect.steps",
             .type = KeyType::choice,
             .default_value = "text",
             .summary =
                 "what a step of a solution is: a piece of its text, or the work of an agent "
                 "(latent), as in LatentMAS",
             .choices = {"text", "latent"}});
  table.add({.name = "collect.split",
             .type = KeyType::choice,
             .default_value = "line",
             .summary = "where a step ends: after each line with words, or after "
                        "collect.step_tokens tokens",
             .choices = {"line", "tokens"}});
  table.add({.name = "collect.step_tokens",
             .type = KeyType::integer,
             .default_value = "auto",
             .summary = "length of a step with collect.split=tokens; auto: 16",
             .unit = "tokens",
             .min = 1,
             .max = 1 << 20,
             .choices = {"auto"}});
  table.add({.name = "collect.max_steps",
             .type = KeyType::integer,
             .default_value = "32",
             .summary = "steps of a solution, at most; what follows belongs to the last step",
             .unit = "steps",
             .min = 1,
             .max = 4096});
  table.add({.name = "collect.label",
             .type = KeyType::choice,
             .default_value = "monte_carlo",
             .summary = "value of a step: share of right rollouts; monte_carlo adds the path's own "
                        "end, math_shepherd_hard is 1 if any is right, and omega_prm values only "
                        "steps that searches need",
             .choices = {"monte_carlo", "math_shepherd_hard", "math_shepherd_soft", "omega_prm"}});
}

void add_omega_number(KeyTable& table, const char* name, const char* value, const char* text,
                      double min, double max) {
  table.add({.name = name,
             .type = KeyType::number,
             .default_value = value,
             .summary = text,
             .min = min,
             .max = max});
}

void add_omega_keys(KeyTable& table) {
  table.add({.name = "collect.omega.searches",
             .type = KeyType::integer,
             .default_value = "20",
             .summary = "binary searches of a question, at most, with collect.label=omega_prm",
             .min = 1,
             .max = 10000});
  add_omega_number(table, "collect.omega.alpha", "0.5",
                   "alpha of OmegaPRM: lower prefers steps with more right rollouts", 1e-6, 1);
  add_omega_number(table, "collect.omega.beta", "0.9",
                   "beta of OmegaPRM: lower prefers short rollouts", 1e-6, 1);
  add_omega_number(table, "collect.omega.length", "500",
                   "L of OmegaPRM: tokens of a rollout for which beta counts once", 1, 1e6);
  add_omega_number(table, "collect.omega.exploration", "0.125",
                   "c_puct of OmegaPRM: higher prefers steps that were searched rarely", 0, 1e3);
}

OmegaRules read_omega_rules(const Config& config) {
  OmegaRules rules;
  rules.searches = config.integer("collect.omega.searches");
  rules.alpha = config.number("collect.omega.alpha");
  rules.beta = config.number("collect.omega.beta");
  rules.length = config.number("collect.omega.length");
  rules.exploration = config.number("collect.omega.exploration");
  return rules;
}

/// Refuses keys collect.omega.* that differ from their default, unless collect.label is omega_prm.
void check_omega(const Config& config) {
  if (config.is("collect.label", "omega_prm")) return;
  for (const std::string& name : config.not_default())
    if (name.starts_with("collect.omega."))
      throw config.problem("E124", name, name + " means nothing without searches",
                           "collect.label=omega_prm");
}

void add_path_keys(KeyTable& table) {
  table.add({.name = "collect.num_paths",
             .type = KeyType::integer,
             .default_value = "8",
             .summary = "solutions that are sampled of each question, and paths of each agent",
             .min = 1,
             .max = 4096});
  table.add({.name = "collect.rollouts",
             .type = KeyType::integer,
             .default_value = "8",
             .summary = "completions that are sampled after a step; none after the last step of "
                        "a solution",
             .min = 1,
             .max = 1024});
  table.add({.name = "collect.max_new_tokens",
             .type = KeyType::integer,
             .default_value = "256",
             .summary = "length of a solution, at most; a rollout counts with the steps before it",
             .unit = "tokens",
             .min = 1,
             .max = 1 << 20});
}

void add_drawing_keys(KeyTable& table) {
  table.add({.name = "collect.temperature",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "divides logits",
             .min = 1e-2,
             .max = 1e2});
  table.add({.name = "collect.top_k",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "draw from so many most probable tokens; 0: from all",
             .min = 0,
             .max = 1 << 24});
  table.add({.name = "collect.top_p",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "draw from the fewest tokens that have this much probability",
             .min = 1e-6,
             .max = 1});
  table.add({.name = "collect.batch_size",
             .type = KeyType::integer,
             .default_value = "64",
             .summary = "solutions and rollouts of a model that grow together; on a CPU, it "
                        "changes time and memory only; auto: as many as all ranks have memory for",
             .unit = "sequences",
             .min = 1,
             .max = 65536,
             .choices = {"auto"},
             .identity = false});
  table.add(lm::cache_type_key("collect.kv_cache_dtype"));
}

}  // namespace

void add_collect_keys(KeyTable& table) {
  add_step_keys(table);
  add_omega_keys(table);
  add_path_keys(table);
  add_agent_keys(table);
  add_drawing_keys(table);
}

void check_collect_keys(const Config& config) {
  check_all({[&] { check_judged_rows(config); }, [&] { check_step_tokens(config); },
             [&] { check_omega(config); }, [&] { check_agent_keys(config); },
             [&] { check_parent_paths(config, num_paths_of(config)); }});
}

CollectKeys read_collect_keys(const Config& config) {
  CollectKeys keys;
  keys.run = run::read_job_keys(config);
  keys.rows = read_question_rows(config);
  keys.splits_lines = config.is("collect.split", "line");
  if (!keys.splits_lines)
    keys.step_tokens = config.is("collect.step_tokens", "auto")
                           ? kStepTokens
                           : config.integer("collect.step_tokens");
  keys.max_steps = config.integer("collect.max_steps");
  keys.num_paths = num_paths_of(config);
  keys.rollouts = config.integer("collect.rollouts");
  keys.label = read_label(config);
  keys.omega = read_omega_rules(config);
  keys.agents = read_agent_keys(config, keys.num_paths);
  keys.max_new_tokens = config.integer("collect.max_new_tokens");
  keys.temperature = config.number("collect.temperature");
  keys.top_k = config.integer("collect.top_k");
  keys.top_p = config.number("collect.top_p");
  if (!config.is("collect.batch_size", "auto"))
    keys.batch_size = config.integer("collect.batch_size");
  keys.cache_type = lm::read_cache_type(config, "collect.kv_cache_dtype");
  return keys;
}

std::string collecting_text(const CollectKeys& keys) {
  const std::string draws =
      report::text_of("; temperature %g, top k %lld, top p %g", keys.temperature,
                      static_cast<long long>(keys.top_k), keys.top_p);
  if (keys.agents.is_used)
    return report::grouped(keys.num_paths) + " paths of a question, " + agents_text(keys.agents) +
           draws;
  const std::string step =
      keys.splits_lines ? "a line" : report::counted(keys.step_tokens, "token");
  return report::grouped(keys.num_paths) + " paths of a question, " +
         report::counted(keys.rollouts, "rollout") + " of a step (" + step + "), label " +
         name_of(keys.label) +
         (keys.label == StepLabel::omega_prm
              ? " with " + report::grouped(keys.omega.searches) + " searches of a question"
              : "") +
         draws;
}

}  // namespace mgpu::jobs
