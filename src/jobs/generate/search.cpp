#include "search.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <mgpu/lm/config/step_head.hpp>
#include <mgpu/rewards/registry.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/text/text_folder.hpp>

#include "same_tokens.hpp"
#include "search_scores.hpp"

namespace mgpu::jobs {
namespace {

constexpr const char* kSearch = "generate.search";
constexpr const char* kReward = "generate.reward.path";
constexpr const char* kWidth = "generate.reward.beam_width";
constexpr const char* kAggregate = "generate.reward.aggregate";
constexpr std::array kSearches = {SearchKind::best_of_n, SearchKind::weighted_vote,
                                  SearchKind::beam};
constexpr std::array kAggregates = {std::pair{"min", StepAggregate::min},
                                    std::pair{"product", StepAggregate::product},
                                    std::pair{"last", StepAggregate::last}};

/// Refuses keys generate.reward.*, which have no effect without generate.search.
void refuse_keys_without_search(const Config& config) {
  for (const std::string& name : config.not_default())
    if (name.starts_with("generate.reward."))
      throw config.problem("E124", name, "`" + name + "` means nothing without `generate.search`",
                           "generate.search=best_of_n");
}

}  // namespace

const char* name_of(SearchKind kind) {
  constexpr std::array kNames{"best_of_n", "weighted_vote", "beam"};
  return kNames.at(static_cast<std::size_t>(kind));
}

void add_search_keys(KeyTable& table) {
  KeySpec search{.name = kSearch,
                 .type = KeyType::choice,
                 .default_value = "none",
                 .summary =
                     "which of generate.num_samples completions is chosen: the one with the "
                     "highest score of generate.reward.path (best_of_n), or one with the answer "
                     "whose completions have the highest sum of scores (weighted_vote). With beam, "
                     "a process reward model chooses after each step which of them go on",
                 .choices = {"none"}};
  for (const SearchKind kind : kSearches)
    search.choices.emplace_back(name_of(kind));
  table.add(std::move(search));
  table.add({.name = kReward,
             .type = KeyType::path,
             .default_value = "null",
             .summary =
                 "folder of the model that scores completions for generate.search: a process "
                 "reward model of recipe prm, or a reward model of recipe reward",
             .choices = {"null"},
             .is_model = true});
  KeySpec aggregate{.name = kAggregate,
                    .type = KeyType::choice,
                    .default_value = "min",
                    .summary =
                        "score of a completion: the smallest probability of its steps, their "
                        "product, or that of the last step"};
  for (const auto& [name, value] : kAggregates)
    aggregate.choices.emplace_back(name);
  table.add(std::move(aggregate));
  table.add({.name = "generate.reward.step_tokens",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "tokens of a step; 0: a step is a line with words, as in job collect",
             .unit = "tokens",
             .min = 0,
             .max = 1 << 20});
  table.add({.name = "generate.reward.max_steps",
             .type = KeyType::integer,
             .default_value = "32",
             .summary = "steps of a completion, at most; what follows belongs to the last step",
             .unit = "steps",
             .min = 1,
             .max = 4096});
  table.add({.name = kWidth,
             .type = KeyType::integer,
             .default_value = "4",
             .summary = "with generate.search=beam, one in so many completions of a prompt goes on "
                        "after each step, in the places of the others",
             .unit = "completions",
             .min = 2,
             .max = 4096});
}

namespace {

void check_beams(const Config& config) {
  if (!config.is(kSearch, name_of(SearchKind::beam))) {
    if (config.is_changed(kWidth))
      throw config.problem("E124", kWidth, "a width means nothing without beams",
                           "generate.search=beam");
    return;
  }
  const char* const others[] = {"generate.stop", "generate.guide.path", "generate.roll_in"};
  for (const std::string& name : config.not_default())
    if (std::ranges::find(others, name) != std::end(others))
      throw config.problem("E124", name, "`" + name + "` cannot be used with beams",
                           "generate.search=best_of_n");
}

}  // namespace

bool searches(const Config& config) {
  return !config.is(kSearch, "none");
}

void check_search_keys(const Config& config) {
  check_beams(config);
  if (!searches(config)) {
    refuse_keys_without_search(config);
    return;
  }
  if (config.is(kReward, "null"))
    throw config.problem("E124", kSearch, "a search needs a model that scores completions",
                         "generate.reward.path=FOLDER of recipe prm or reward");
}

std::optional<SearchKeys> read_search_keys(const Config& config) {
  if (!searches(config) || config.is(kReward, "null")) return std::nullopt;
  SearchKeys keys;
  for (const SearchKind kind : kSearches)
    if (config.is(kSearch, name_of(kind))) keys.kind = kind;
  for (const auto& [name, value] : kAggregates)
    if (config.is(kAggregate, name)) keys.aggregate = value;
  keys.folder = config.text(kReward);
  keys.steps = {config.integer("generate.reward.step_tokens"),
                config.integer("generate.reward.max_steps")};
  keys.beam_width = config.integer(kWidth);
  return keys;
}

bool judges_steps(const SearchKeys& keys) {
  return lm::classifies_tokens(keys.folder);
}

namespace {

/// Refuses keys about steps, for a model that scores whole completions.
void refuse_keys_of_steps(const Config& config) {
  for (const std::string& name : config.not_default())
    if (name.starts_with("generate.reward.") && name != kReward)
      throw config.problem("E124", name,
                           "`" + name +
                               "` is about steps, and the model of generate.reward.path scores "
                               "whole completions",
                           "remove it, or generate.reward.path=FOLDER of recipe prm");
}

void check_step_model(const Config& config, const SearchKeys& keys,
                      const std::filesystem::path& model) {
  const lm::StepHead head = lm::read_step_head(keys.folder);
  if (head.place == lm::StepPlace::last_token) {
    check_same_tokens(
        config, {kReward, keys.folder, "a model that was trained on tokens of model.path"}, model);
    return;
  }
  if (!text::has_tokenizer(keys.folder))
    throw Failure({"E553",
                   ExitCode::data,
                   "the process reward model's folder has no tokenizer",
                   {"  --> " + keys.folder.string()},
                   "copy tokenizer.json of its base model there"});
}

}  // namespace

void check_search_files(const Config& config, const SearchKeys& keys,
                        const std::filesystem::path& model, bool needs_weights) {
  if (needs_weights)
    rows::check_model_folder(config, keys.folder, kReward);
  else
    rows::check_model_config(config, keys.folder, kReward);
  if (judges_steps(keys)) {
    check_step_model(config, keys, model);
    return;
  }
  if (keys.has_beams())
    throw config.problem("E124", kSearch,
                         "beams need scores of steps, and the model of generate.reward.path scores "
                         "whole completions",
                         "generate.search=best_of_n, or generate.reward.path=FOLDER of recipe prm");
  refuse_keys_of_steps(config);
  rows::check_reward_config(config, reward_settings_of(keys));
  if (needs_weights) rows::check_reward_weights(config, reward_settings_of(keys));
}

std::string search_text(const SearchKeys& keys) {
  constexpr std::array kTexts{"best by ", "weighted vote by ", "beams by "};
  std::string text = kTexts.at(static_cast<std::size_t>(keys.kind));
  text += keys.folder.string();
  if (!judges_steps(keys)) return text;
  for (const auto& [name, value] : kAggregates)
    if (value == keys.aggregate) text += std::string(", ") + name + " over steps";
  if (keys.has_beams()) text += ", width " + std::to_string(keys.beam_width);
  return text;
}

}  // namespace mgpu::jobs
