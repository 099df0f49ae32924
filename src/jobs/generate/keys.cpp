#include "keys.hpp"

#include <array>
#include <string>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/lm/cache/cache_key.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_keys.hpp>

namespace mgpu::jobs {
namespace {

// The keys that make sense only if tokens are sampled. In greedy decoding, generate.num_samples
// would repeat the same completion, and the others would have no effect.
constexpr std::array kDrawKeys = {"generate.temperature", "generate.top_k", "generate.top_p",
                                  "generate.num_samples"};

KeySpec sampling_key(const char* name, KeyType type, const char* text, double min, double max) {
  KeySpec spec;
  spec.name = name;
  spec.type = type;
  spec.default_value = "auto";
  spec.summary = text;
  spec.min = min;
  spec.max = max;
  spec.choices = {"auto"};
  return spec;
}

std::optional<bool> read_flag(const Config& config, const char* name) {
  if (config.is(name, "auto")) return std::nullopt;
  return config.is(name, "true");
}

std::optional<double> read_number(const Config& config, const char* name) {
  if (config.is(name, "auto")) return std::nullopt;
  return config.number(name);
}

std::optional<std::int64_t> read_integer(const Config& config, const char* name) {
  if (config.is(name, "auto")) return std::nullopt;
  return config.integer(name);
}

std::filesystem::path read_reference(const Config& config) {
  if (config.is("generate.reference", "null")) return {};
  return config.text("generate.reference");
}

rows::ModelRowKeys read_rows(const Config& config, const rewards::RewardSettings& rewards) {
  rows::ModelRowKeys keys = rows::read_model_row_keys(config);
  keys.options.one_of = {"prompt", "messages", "token_ids"};
  if (config.is("generate.roll_in", "random")) {
    keys.options.one_of = {"token_ids"};
    keys.options.all_of = {"completion_ids"};
  }
  keys.options.keeps = {"id", "label"};
  if (rewards.needs_answers()) {
    keys.options.all_of.emplace_back("answer");
  } else if (rewards.is_given()) {
    keys.options.may_have = {"answer"};
  }
  keys.options.may_have.emplace_back("group");
  return keys;
}

lm::SamplingConfig sampling_of(const GenerateKeys& keys, const lm::GenerationDefaults& defaults) {
  lm::SamplingConfig sampling;
  sampling.is_greedy = !keys.do_sample.value_or(keys.asks_for_draws() || defaults.do_sample);
  sampling.temperature = keys.temperature.value_or(defaults.temperature);
  sampling.top_k = keys.top_k.value_or(defaults.top_k);
  sampling.top_p = keys.top_p.value_or(defaults.top_p);
  sampling.repetition_penalty = keys.repetition_penalty.value_or(defaults.repetition_penalty);
  sampling.seed = keys.run.seed;
  return sampling;
}

/// Refuses the keys of kDrawKeys if generate.do_sample is false, instead of ignoring them.
void refuse_keys_of_draws(const Config& config) {
  if (!config.is("generate.do_sample", "false")) return;
  for (const char* name : kDrawKeys) {
    const bool is_count = std::string_view(name) == "generate.num_samples";
    if (is_count ? config.integer(name) == 1 : config.is(name, "auto")) continue;
    throw config.problem("E124", name,
                         is_count ? "greedy decoding gives the same completion each time"
                                  : std::string(name) + " means nothing in greedy decoding",
                         "generate.do_sample=true");
  }
}

void check_stops(const Config& config) {
  for (const std::string& stop : config.texts("generate.stop"))
    if (stop.empty())
      throw config.problem("E107", "generate.stop", "a stop string is empty", "remove it");
}

/// Refuses a reference model if the run makes no completions.
void check_reference(const Config& config) {
  constexpr const char* kKey = "generate.reference";
  if (config.is(kKey, "null")) return;
  if (config.integer("generate.max_new_tokens") == 0)
    throw config.problem("E124", kKey,
                         "the KL is that of completions, and generate.max_new_tokens=0 makes none",
                         "generate.max_new_tokens=256");
}

/// Refuses a guide if the run makes no completions.
void check_guide(const Config& config) {
  check_guide_keys(config);
  if (!read_guide_keys(config)) return;
  if (config.integer("generate.max_new_tokens") == 0)
    throw config.problem("E124", "generate.guide.path",
                         "a guide changes draws, and generate.max_new_tokens=0 only scores prompts",
                         "generate.max_new_tokens=256");
}

/// Refuses a search if a prompt does not get several different completions to choose from.
void check_search(const Config& config) {
  check_search_keys(config);
  const std::optional<SearchKeys> search = read_search_keys(config);
  if (!search) return;
  if (search->has_beams() && config.is("generate.do_sample", "false"))
    throw config.problem("E124", "generate.do_sample",
                         "greedy beams of a prompt would all be the same",
                         "generate.do_sample=true");
  if (config.integer("generate.max_new_tokens") == 0)
    throw config.problem("E124", "generate.search",
                         "a search chooses completions, and generate.max_new_tokens=0 makes none",
                         "generate.max_new_tokens=256");
  if (config.integer("generate.num_samples") == 1)
    throw config.problem("E124", "generate.search",
                         "a search chooses one of several completions, and generate.num_samples "
                         "is 1",
                         "generate.num_samples=8");
}

/// Refuses keys that contradict generate.roll_in=random. With this value, each completion begins
/// with a random number of tokens from the completion in the row.
void check_roll_in(const Config& config) {
  if (!config.is("generate.roll_in", "random")) return;
  const auto refuse = [&](const char* name, const char* why, const char* help) {
    throw config.problem("E124", name, why, help);
  };
  if (config.integer("generate.max_new_tokens") == 0)
    refuse("generate.roll_in", "generate.max_new_tokens=0 completes nothing",
           "generate.max_new_tokens=256");
  if (!config.texts("generate.stop").empty())
    refuse("generate.stop", "stop strings do not see the tokens that generate.roll_in keeps",
           "remove it");
  if (config.is("data.path", "null"))
    refuse("generate.roll_in", "a data set has no completions of a policy to begin with",
           "data.path=FILE with token_ids and completion_ids");
}

/// Refuses keys that contradict generate.first_greedy, and generate.export_ties without
/// generate.first_greedy.
void check_first_greedy(const Config& config) {
  constexpr const char* kKey = "generate.first_greedy";
  if (!config.flag(kKey)) {
    if (config.flag("generate.export_ties"))
      throw config.problem("E124", "generate.export_ties",
                           "generate.export_ties means nothing without a greedy first completion",
                           "generate.first_greedy=true");
    return;
  }
  if (config.integer("generate.num_samples") == 1)
    throw config.problem("E124", kKey, "generate.num_samples is 1, so no completion is drawn",
                         "generate.num_samples=2");
  if (config.integer("generate.max_new_tokens") == 0)
    throw config.problem("E124", kKey, "generate.max_new_tokens=0 completes nothing",
                         "generate.max_new_tokens=256");
  if (searches(config))
    throw config.problem("E124", kKey, "searches choose among drawn completions",
                         "generate.search=none");
  if (!config.is("generate.reference", "null"))
    throw config.problem("E124", kKey,
                         "the KL of greedy and drawn completions is not that of one policy",
                         "generate.reference=null");
}

void check_rewards(const Config& config) {
  rewards::check_reward_keys(config);
  if (rewards::read_reward_settings(config).is_given() &&
      config.integer("generate.max_new_tokens") == 0)
    throw config.problem("E124", "reward.functions",
                         "rewards judge completions, and generate.max_new_tokens=0 makes none",
                         "generate.max_new_tokens=256");
}

}  // namespace

void add_generate_keys(KeyTable& table) {
  table.add_section_alias("generation", "generate");
  table.add({.name = "generate.max_new_tokens",
             .type = KeyType::integer,
             .default_value = "256",
             .summary = "length of a completion at most; 0 only scores the prompts",
             .unit = "tokens",
             .min = 0,
             .max = 1 << 20,
             .foreign = {{"max_tokens", "vLLM"}}});
  table.add({.name = "generate.num_samples",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "completions of each prompt, a row each",
             .min = 1,
             .max = 65536,
             .aliases = {"generate.num_return_sequences"}});
  table.add({.name = "generate.beyond_context",
             .type = KeyType::choice,
             .default_value = "warn",
             .summary = "prompts longer than max_position_embeddings of the model: warn of them, "
                        "mark them as too long without a completion, or stop before any work",
             .choices = {"warn", "mark", "stop"}});
  table.add({.name = "generate.roll_in",
             .type = KeyType::choice,
             .default_value = "none",
             .summary =
                 "none, or random: each row has a completion (completion_ids after token_ids), "
                 "which is cut at a random token and completed by the model",
             .choices = {"none", "random"}});
  table.add({.name = "generate.first_greedy",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "take the most probable tokens for completion 0 of each prompt, and draw "
                        "the others; --export pairs compares each of them with it"});
  table.add({.name = "generate.export_ties",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "with generate.first_greedy, --export pairs also writes pairs with equal "
                        "rewards, whose preference value.preference_beta draws",
             .identity = false});
  table.add({.name = "generate.do_sample",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "draw tokens, or take the most probable ones; auto: draw if num_samples, "
                        "temperature, top_k or top_p is set, else as the folder's "
                        "generation_config.json says, like every auto below",
             .choices = {"auto", "true", "false"}});
  table.add(sampling_key("generate.temperature", KeyType::number, "divides logits", 1e-4, 1e4));
  table.add(sampling_key("generate.top_k", KeyType::integer,
                         "draw from so many most probable tokens; 0: from all", 0, 1 << 24));
  table.add(sampling_key("generate.top_p", KeyType::number,
                         "draw from the fewest tokens that have this much probability", 1e-6, 1));
  table.add(sampling_key("generate.repetition_penalty", KeyType::number,
                         "divides positive logits of earlier tokens, multiplies negative ones",
                         1e-2, 1e2));
  table.add({.name = "generate.stop",
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "texts that end a completion, which keeps them",
             .aliases = {"generate.stop_strings"}});
  table.add({.name = "generate.prompt_log_probs",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "record the log-probabilities of the prompt's tokens as well"});
  table.add({.name = "generate.add_special_tokens",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "put the tokenizer's own tokens around a `prompt`, such as <s>; chat "
                        "templates write them themselves"});
  table.add({.name = "generate.add_generation_prompt",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "end `messages` with the words that begin an answer; auto: unless they are "
                        "only scored",
             .choices = {"auto", "true", "false"}});
  table.add({.name = "generate.batch_size",
             .type = KeyType::integer,
             .default_value = "16",
             .summary = "completions of a model that grow together; on a CPU, it changes time "
                        "and memory only; auto: as many as all ranks have memory for",
             .unit = "sequences",
             .min = 1,
             .max = 65536,
             .choices = {"auto"},
             .identity = false});
  table.add(lm::cache_type_key("generate.kv_cache_dtype"));
  table.add({.name = "generate.reference",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "folder of a model with the same tokenizer; records the KL of each token "
                        "from it, at the sampling temperature and before top_k and top_p",
             .choices = {"null"},
             .is_model = true});
  add_guide_keys(table);
  add_search_keys(table);
}

void check_generate_keys(const Config& config) {
  check_all({[&] { rows::check_model_keys(config, "data.path=FILE, with a `prompt` in each row"); },
             [&] { check_stops(config); }, [&] { refuse_keys_of_draws(config); },
             [&] { check_rewards(config); }, [&] { check_reference(config); },
             [&] { check_roll_in(config); }, [&] { check_first_greedy(config); },
             [&] { check_guide(config); }, [&] { check_search(config); }});
}

GenerateKeys read_generate_keys(const Config& config) {
  const rewards::RewardSettings rewards = rewards::read_reward_settings(config);
  return {.run = run::read_job_keys(config),
          .rows = read_rows(config, rewards),
          .rewards = rewards,
          .guide = read_guide_keys(config),
          .search = read_search_keys(config),
          .max_new_tokens = config.integer("generate.max_new_tokens"),
          .num_samples = config.integer("generate.num_samples"),
          .beyond_context = config.is("generate.beyond_context", "mark")   ? BeyondContext::mark
                            : config.is("generate.beyond_context", "stop") ? BeyondContext::stop
                                                                           : BeyondContext::warn,
          .rolls_in = config.is("generate.roll_in", "random"),
          .first_greedy = config.flag("generate.first_greedy"),
          .export_ties = config.flag("generate.export_ties"),
          .do_sample = read_flag(config, "generate.do_sample"),
          .temperature = read_number(config, "generate.temperature"),
          .top_k = read_integer(config, "generate.top_k"),
          .top_p = read_number(config, "generate.top_p"),
          .repetition_penalty = read_number(config, "generate.repetition_penalty"),
          .stops = config.texts("generate.stop"),
          .prompt_log_probs = config.flag("generate.prompt_log_probs"),
          .add_special_tokens = config.flag("generate.add_special_tokens"),
          .add_generation_prompt = read_flag(config, "generate.add_generation_prompt"),
          .batch_size = read_integer(config, "generate.batch_size"),
          .cache_type = lm::read_cache_type(config, "generate.kv_cache_dtype"),
          .reference = read_reference(config)};
}

GenerateConfig fill_in(const GenerateKeys& keys, const lm::GenerationDefaults& defaults) {
  GenerateConfig result;
  result.model = keys.rows.folder;
  lm::GenerationConfig& generation = result.generation;
  generation.sampling = sampling_of(keys, defaults);
  generation.max_new_tokens = keys.max_new_tokens;
  generation.stop_ids = defaults.eos_ids;
  generation.cache_type = keys.cache_type;
  result.has_auto_batch = !keys.batch_size;
  if (keys.batch_size) generation.batch_size = *keys.batch_size;
  const bool is_scoring = keys.max_new_tokens == 0;
  generation.scores_prompts = keys.prompt_log_probs || is_scoring || keys.rolls_in;
  result.num_samples = is_scoring ? 1 : keys.num_samples;
  result.first_greedy = keys.first_greedy;
  result.stops = keys.stops;
  result.prompt.add_special_tokens = keys.add_special_tokens;
  result.prompt.add_generation_prompt = keys.add_generation_prompt.value_or(!is_scoring);
  return result;
}

std::string GenerateKeys::draw_keys() const {
  std::string names;
  for (const char* name : kDrawKeys)
    if (is_changed(name)) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

bool GenerateKeys::is_changed(std::string_view name) const {
  if (name == "generate.do_sample") return do_sample.has_value();
  if (name == "generate.temperature") return temperature.has_value();
  if (name == "generate.top_k") return top_k.has_value();
  if (name == "generate.top_p") return top_p.has_value();
  if (name == "generate.repetition_penalty") return repetition_penalty.has_value();
  if (name == "generate.num_samples") return num_samples != 1;
  if (name == "generate.prompt_log_probs") return !prompt_log_probs;
  if (name == "generate.stop") return !stops.empty();
  throw Error("no key of draws or scores: " + std::string(name));
}

std::string scoring_note(const Config& config, const GenerateKeys& keys) {
  if (keys.max_new_tokens > 0) return "";
  std::string without;
  for (const char* name : {"generate.do_sample", "generate.temperature", "generate.top_k",
                           "generate.top_p", "generate.repetition_penalty", "generate.num_samples",
                           "generate.prompt_log_probs", "generate.stop"}) {
    if (keys.is_changed(name))
      without += (without.empty() ? "" : ", ") + std::string(name) + "=" + config.shown(name);
  }
  return without.empty() ? ""
                         : "generate.max_new_tokens=0 only scores the prompts, without " + without;
}

}  // namespace mgpu::jobs
