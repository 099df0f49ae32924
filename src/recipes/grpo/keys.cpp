#include "keys.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <mgpu/config/check_all.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/train/train_config.hpp>

#include "recipes/lm/keys.hpp"

namespace mgpu::recipes {
namespace {

constexpr std::array kVariants = {
    std::pair{"grpo", PolicyVariant::grpo},
    std::pair{"dr_grpo", PolicyVariant::dr_grpo},
    std::pair{"dapo", PolicyVariant::dapo},
    std::pair{"bnpo", PolicyVariant::bnpo},
    std::pair{"cispo", PolicyVariant::cispo},
    std::pair{"gspo", PolicyVariant::gspo},
    std::pair{"rloo", PolicyVariant::rloo},
    std::pair{"reinforce", PolicyVariant::reinforce},
    std::pair{"seed_offline", PolicyVariant::seed_offline},
};

constexpr ClipRange kTokenClip{0.2, 0.2};       // default: arXiv 2402.03300 and TRL
constexpr double kDapoClip = 0.28;              // ClipRange::high of dapo: arXiv 2503.14476
constexpr ClipRange kSequenceClip{3e-4, 4e-4};  // gspo: arXiv 2507.18071, section 5.1
constexpr double kCispoBound = 5.0;             // ClipRange::high of cispo: arXiv 2510.13786

PolicyVariant variant_of(const Config& config) {
  for (const auto& [name, variant] : kVariants)
    if (config.is("grpo.variant", name)) return variant;
  return PolicyVariant::grpo;
}

RewardScale scale_of(const Config& config, PolicyVariant variant) {
  if (config.is("grpo.scale_rewards", "group")) return RewardScale::group;
  if (config.is("grpo.scale_rewards", "batch")) return RewardScale::batch;
  const bool is_plain = variant == PolicyVariant::dr_grpo || variant == PolicyVariant::rloo ||
                        variant == PolicyVariant::reinforce;
  const bool is_auto = config.is("grpo.scale_rewards", "auto");
  return is_auto && !is_plain ? RewardScale::group : RewardScale::none;
}

ClipRange clip_of(const Config& config, PolicyVariant variant) {
  ClipRange clip = variant == PolicyVariant::gspo ? kSequenceClip : kTokenClip;
  const bool has_low = !config.is("grpo.clip_low", "auto");
  if (has_low) clip.low = config.number("grpo.clip_low");
  if (variant == PolicyVariant::cispo)
    clip.high = kCispoBound;
  else if (variant == PolicyVariant::dapo)
    clip.high = kDapoClip;
  else if (has_low)
    clip.high = clip.low;
  if (!config.is("grpo.clip_high", "auto")) clip.high = config.number("grpo.clip_high");
  return clip;
}

lm::GenerationConfig sampling_of_policy(const Config& config) {
  lm::GenerationConfig generation;
  generation.sampling.is_greedy = false;
  generation.sampling.temperature = config.number("grpo.temperature");
  generation.sampling.top_p = config.number("grpo.top_p");
  generation.sampling.top_k = config.integer("grpo.top_k");
  generation.sampling.seed = run::read_job_keys(config).seed;
  generation.max_new_tokens = config.integer("grpo.max_new_tokens");
  generation.batch_size = config.integer("grpo.batch_size");
  return generation;
}

void refuse_policy_key(const Config& config, const char* name, const std::string& why,
                       const std::string& help) {
  throw config.problem("E124", name, std::string("`") + name + "` " + why, help);
}

void check_policy_rewards(const Config& config) {
  rewards::check_reward_keys(config);
  if (rewards::read_reward_settings(config).is_given()) return;
  throw config.problem("E107", "reward.functions",
                       "recipe grpo needs a reward, and `reward.functions` names none",
                       "reward.functions=[match], or reward.functions=[command] "
                       "reward.command=PROGRAM");
}

/// Refuses keys that have no effect with the chosen grpo.variant, or that the variant does not
/// support.
void check_variant(const Config& config) {
  const PolicyVariant variant = variant_of(config);
  const std::string name = config.text("grpo.variant");
  for (const char* key : {"grpo.clip_low", "grpo.clip_high"})
    if (!has_clipping(variant) && !config.is(key, "auto"))
      refuse_policy_key(config, key,
                        "means nothing with grpo.variant=" + name + ", which clips nothing",
                        "remove it");
  if (variant == PolicyVariant::cispo && !config.is("grpo.clip_low", "auto"))
    refuse_policy_key(config, "grpo.clip_low",
                      "means nothing with grpo.variant=cispo, which bounds only "
                      "large ratios",
                      "remove it");
  if (variant == PolicyVariant::seed_offline && !config.is("grpo.scale_rewards", "auto"))
    refuse_policy_key(config, "grpo.scale_rewards",
                      "means nothing with grpo.variant=seed_offline, which has another scale",
                      "remove it");
  if (variant == PolicyVariant::reinforce && config.is("grpo.scale_rewards", "group"))
    refuse_policy_key(
        config, "grpo.scale_rewards",
        "=group means nothing with grpo.variant=reinforce, whose baseline is the batch",
        "grpo.scale_rewards=batch");
  if (variant == PolicyVariant::reinforce && config.integer("grpo.num_iterations") > 1)
    refuse_policy_key(
        config, "grpo.num_iterations",
        "is above 1, and grpo.variant=reinforce has no ratio that corrects later steps",
        "grpo.num_iterations=1, or grpo.variant=rloo");
}

/// Refuses grpo.refill with a variant that also learns from groups whose rewards are all equal.
void check_refill(const Config& config) {
  if (config.integer("grpo.refill") > 0 && variant_of(config) == PolicyVariant::reinforce)
    refuse_policy_key(
        config, "grpo.refill",
        "means nothing with grpo.variant=reinforce, which also learns from groups whose rewards "
        "are all equal",
        "remove it, or grpo.variant=rloo");
}

void check_lengths(const Config& config) {
  const std::int64_t most = config.integer("grpo.max_new_tokens");
  if (config.integer("grpo.overlong_tokens") > most)
    throw config.problem("E107", "grpo.overlong_tokens",
                         "`grpo.overlong_tokens` is more than `grpo.max_new_tokens`",
                         "grpo.overlong_tokens=" + std::to_string(most / 4));
  const std::int64_t room = read_seq_len(config);
  if (most >= room)
    throw config.problem("E107", "grpo.max_new_tokens",
                         "`grpo.max_new_tokens` leaves no room for a prompt in `train.seq_len`, " +
                             std::to_string(room) + " tokens",
                         "train.seq_len=" + std::to_string(2 * most));
}

void check_policy_data(const Config& config) {
  for (const char* key : {"data.eval_path", "data.template"})
    if (!config.is(key, "null"))
      refuse_policy_key(config, key, "is not used by recipe grpo",
                        std::string(key) == "data.eval_path"
                            ? "remove it, and measure the reward of a checkpoint with job generate"
                            : "remove it, and give each row a `prompt` and an `answer`");
}

void check_lanes(const Config& config) {
  if (variant_of(config) != PolicyVariant::bnpo) return;
  const train::BatchShape batch = train::read_train_config(config).batch;
  if (batch.global_batch % batch.lanes == 0) return;
  throw config.problem("E107", "train.lanes",
                       "grpo.variant=bnpo takes means over lanes, and `train.lanes` does not "
                       "divide `train.global_batch_size` " +
                           std::to_string(batch.global_batch),
                       "train.lanes=1");
}

void add_sampling_keys(KeyTable& table) {
  table.add({.name = "grpo.group_size",
             .type = KeyType::integer,
             .default_value = "8",
             .summary = "completions that are sampled of each prompt and compared with each other; "
                        "train.global_batch_size counts completions",
             .min = 2,
             .max = 65536,
             .foreign = {{"num_generations", "TRL"}}});
  table.add({.name = "grpo.refill",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "how many times, at most, groups whose rewards are all equal are replaced "
                        "by groups of the next prompts; 0: they stay",
             .unit = "rounds",
             .min = 0,
             .max = 1000});
  table.add({.name = "grpo.max_new_tokens",
             .type = KeyType::integer,
             .default_value = "128",
             .summary = "length of a completion, at most; train.seq_len has room for it after "
                        "each prompt",
             .unit = "tokens",
             .min = 1,
             .max = 1 << 20,
             .foreign = {{"max_completion_length", "TRL"}}});
  table.add({.name = "grpo.temperature",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "divides the logits of sampling, and those of the log-probabilities that "
                        "are learned",
             .min = 1e-2,
             .max = 1e2});
  table.add({.name = "grpo.top_p",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "completions are sampled from the fewest tokens that have this much "
                        "probability; log-probabilities are those of all tokens",
             .min = 1e-6,
             .max = 1});
  table.add({.name = "grpo.top_k",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "completions are sampled from so many most probable tokens; 0: from all",
             .min = 0,
             .max = 1 << 24});
  table.add({.name = "grpo.batch_size",
             .type = KeyType::integer,
             .default_value = "64",
             .summary = "completions of a rank that grow together; on a CPU, it changes "
                        "time and memory only",
             .unit = "sequences",
             .min = 1,
             .max = 65536,
             .identity = false});
}

void add_clip_key(KeyTable& table, const char* name, const char* summary,
                  std::vector<ForeignName> foreign) {
  table.add({.name = name,
             .type = KeyType::number,
             .default_value = "auto",
             .summary = summary,
             .min = 1e-6,
             .max = 1e6,
             .choices = {"auto"},
             .foreign = std::move(foreign)});
}

void add_loss_keys(KeyTable& table) {
  KeySpec variant{.name = "grpo.variant",
                  .type = KeyType::choice,
                  .default_value = "grpo",
                  .summary = "loss of the completions; docs/grpo.md has the formulas"};
  for (const auto& [name, value] : kVariants)
    variant.choices.emplace_back(name);
  table.add(std::move(variant));
  table.add({.name = "grpo.scale_rewards",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary = "standard deviation that divides advantages: of the group, of the global "
                        "batch, or none; auto: none with dr_grpo, rloo and reinforce, else group",
             .choices = {"auto", "group", "batch", "none"},
             .foreign = {{"scale_rewards", "TRL"}}});
  add_clip_key(table, "grpo.clip_low",
               "ratios of probabilities below 1 minus this are clipped; auto: 0.2, and 3e-4 with "
               "gspo",
               {{"epsilon", "TRL"}});
  add_clip_key(table, "grpo.clip_high",
               "ratios above 1 plus this are clipped; with cispo ratios above this; auto: as "
               "clip_low, 0.28 with dapo, 4e-4 with gspo, 5 with cispo",
               {{"epsilon_high", "TRL"}});
  table.add({.name = "grpo.beta",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary =
                 "weight of the KL divergence from the start model in the loss; above 0 each "
                 "rank holds a second copy of the start weights",
             .min = 0,
             .max = 1e3});
  table.add({.name = "grpo.num_iterations",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "optimizer steps that learn from the same completions",
             .unit = "steps",
             .min = 1,
             .max = 1000,
             .foreign = {{"num_iterations", "TRL"}}});
  table.add({.name = "grpo.mask_truncated",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "learn nothing from completions that reach grpo.max_new_tokens without an "
                        "end; their rewards still count in their groups",
             .foreign = {{"mask_truncated_completions", "TRL"}}});
  table.add({.name = "grpo.overlong_tokens",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "the reward falls linearly to 1 less over the last so many tokens before "
                        "grpo.max_new_tokens; 0: it does not",
             .unit = "tokens",
             .min = 0,
             .max = 1 << 20});
}

}  // namespace

void add_grpo_keys(KeyTable& table) {
  add_loss_keys(table);
  add_sampling_keys(table);
}

bool has_grpo_keys(const Config& config) {
  return std::ranges::any_of(config.not_default(),
                             [](const std::string& name) { return name.starts_with("grpo."); });
}

void check_grpo_keys(const Config& config) {
  check_all({[&] { check_policy_rewards(config); }, [&] { check_variant(config); },
             [&] { check_refill(config); }, [&] { check_lengths(config); },
             [&] { check_policy_data(config); }, [&] { check_lanes(config); }});
}

GrpoSettings read_grpo_settings(const Config& config) {
  GrpoSettings settings;
  settings.variant = variant_of(config);
  settings.scale = scale_of(config, settings.variant);
  settings.clip = clip_of(config, settings.variant);
  settings.beta = config.number("grpo.beta");
  settings.group_size = config.integer("grpo.group_size");
  settings.iterations = config.integer("grpo.num_iterations");
  settings.refills = config.integer("grpo.refill");
  settings.masks_truncated = config.flag("grpo.mask_truncated");
  settings.overlong_tokens = config.integer("grpo.overlong_tokens");
  settings.sampling = sampling_of_policy(config);
  settings.rewards = rewards::read_reward_settings(config);
  const train::BatchShape batch = train::read_train_config(config).batch;
  settings.global_batch = batch.global_batch;
  settings.lanes = batch.lanes;
  return settings;
}

}  // namespace mgpu::recipes
