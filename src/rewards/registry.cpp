#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <mgpu/config/nearest_name.hpp>
#include <mgpu/rewards/registry.hpp>

#ifndef MGPU_MORE_REWARDS
#define MGPU_MORE_REWARDS(line)
#endif

// MGPU_REWARDS lists the rewards of the registry. To add a reward, write a source file NAME.cpp
// that defines NAME_reward(), and add NAME to this list. A build can add rewards without a change
// of this file if it defines MGPU_MORE_REWARDS(line) as `line(NAME)` for each of these rewards.
#define MGPU_REWARDS(line) \
  line(match) line(regex) line(length) line(file) line(command) line(model) MGPU_MORE_REWARDS(line)

namespace mgpu::rewards {

#define MGPU_DECLARE(name) RewardEntry name##_reward();
MGPU_REWARDS(MGPU_DECLARE)

namespace {

constexpr const char* kFunctions = "reward.functions";

const RewardEntry* find_reward(std::string_view name) {
  const auto found = std::ranges::find(rewards(), name, &RewardEntry::name);
  return found == rewards().end() ? nullptr : &*found;
}

const RewardEntry& reward_called(const Config& config, const std::string& name) {
  if (const RewardEntry* entry = find_reward(name)) return *entry;
  std::vector<std::string> names;
  for (const RewardEntry& entry : rewards())
    names.emplace_back(entry.name);
  const std::string nearest = nearest_name(name, names);
  throw config.problem(
      "E107", kFunctions, "no reward is called `" + name + "`",
      std::string(kFunctions) + "=[" + (nearest.empty() ? "match" : nearest) + "]");
}

/// Returns the weights in reward.functions. The key is a mapping {NAME: WEIGHT}, or a list of names
/// whose weights are all 1.
std::vector<double> read_weights(const Config& config, const std::vector<std::string>& names) {
  const std::vector<std::string> values = config.values(kFunctions);
  if (values == names) return std::vector<double>(names.size(), 1.0);
  std::vector<double> weights;
  for (const std::string& value : values) {
    double weight = 0.0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), weight);
    if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(weight))
      throw config.problem("E107", kFunctions, "the weight `" + value + "` is no number",
                           std::string(kFunctions) + "={match: 1, length: 0.1}");
    weights.push_back(weight);
  }
  return weights;
}

/// Throws Failure E124 if the user has set a key of a reward that reward.functions does not name.
void refuse_unused_keys(const Config& config, const std::vector<std::string>& names) {
  const auto is_used = [&](const RewardEntry& entry) {
    return std::ranges::find(names, entry.name) != names.end();
  };
  for (const std::string& given : config.not_default()) {
    for (const RewardEntry& entry : rewards())
      if (given == entry.key && !is_used(entry))
        throw config.problem(
            "E124", given,
            "`" + given + "` has no meaning without reward `" + std::string(entry.name) + "`",
            std::string(kFunctions) + "=[" + std::string(entry.name) + "]");
    const RewardEntry* command = find_reward("command");
    if ((given == "reward.rows_per_call" || given == "reward.timeout") && !is_used(*command))
      throw config.problem("E124", given, "`" + given + "` has no meaning without reward `command`",
                           std::string(kFunctions) + "=[command]");
  }
}

std::string summaries() {
  std::string text = "rewards of completions, as a list or with weights {match: 1, length: 0.1}";
  for (const RewardEntry& entry : rewards())
    text.append("; ").append(entry.name).append(": ").append(entry.summary);
  return text;
}

std::string text_or_empty(const Config& config, const char* name) {
  std::string text = config.text(name);
  return text == "null" ? "" : text;
}

}  // namespace

std::span<const RewardEntry> rewards() {
#define MGPU_ENTRY(name) name##_reward(),
  static const std::array kRewards = {MGPU_REWARDS(MGPU_ENTRY)};
  return kRewards;
}

bool RewardSettings::has_model() const {
  return std::ranges::find(names, "model") != names.end();
}

bool RewardSettings::needs_answers() const {
  return std::ranges::any_of(
      names, [](const std::string& name) { return find_reward(name)->needs_answers; });
}

void add_reward_keys(KeyTable& table) {
  table.add({.name = kFunctions,
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = summaries(),
             .may_map = true});
  table.add({.name = "reward.regex",
             .type = KeyType::text,
             .default_value = "null",
             .summary = "regular expression of PCRE2 for reward regex",
             .choices = {"null"}});
  table.add({.name = "reward.length",
             .type = KeyType::integer,
             .default_value = "null",
             .summary = "wanted length of a completion for reward length",
             .unit = "characters",
             .min = 1,
             .max = 1e9,
             .choices = {"null"}});
  table.add({.name = "reward.file",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "rows with `prompt`, `completion` and `reward` for reward file",
             .choices = {"null"}});
  table.add({.name = "reward.command",
             .type = KeyType::text,
             .default_value = "null",
             .summary = "command of the shell for reward command: it reads a JSON object per row, "
                        "and writes one with `reward`",
             .choices = {"null"}});
  table.add({.name = "reward.model",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "Hugging Face folder of a ForSequenceClassification with one output, for "
                        "reward model",
             .choices = {"null"},
             .is_model = true});
  table.add({.name = "reward.rows_per_call",
             .type = KeyType::integer,
             .default_value = "32",
             .summary = "rows that reward.command gets before it has to answer",
             .unit = "rows",
             .min = 1,
             .max = 65536,
             .aliases = {"data_collection.reward_batch_size"},
             .identity = false});
  table.add({.name = "reward.timeout",
             .type = KeyType::duration,
             .default_value = "60",
             .summary = "time that reward.command has for reward.rows_per_call rows",
             .unit = "seconds",
             .min = 0.1,
             .max = 86400,
             .identity = false});
}

void check_reward_keys(const Config& config) {
  const std::vector<std::string> names = config.texts(kFunctions);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const RewardEntry& entry = reward_called(config, names[i]);
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i))
      throw config.problem("E107", kFunctions, "reward `" + names[i] + "` comes twice",
                           std::string(kFunctions) + "=[" + names[i] + "]");
    if (*entry.key != '\0' && config.is(entry.key, "null"))
      throw config.problem("E124", entry.key,
                           "reward `" + names[i] + "` needs `" + std::string(entry.key) + "`",
                           std::string(entry.key) + "=VALUE");
  }
  read_weights(config, names);
  refuse_unused_keys(config, names);
}

RewardSettings read_reward_settings(const Config& config) {
  RewardSettings settings;
  settings.names = config.texts(kFunctions);
  settings.weights = read_weights(config, settings.names);
  settings.regex = text_or_empty(config, "reward.regex");
  if (!config.is("reward.length", "null")) settings.length = config.integer("reward.length");
  settings.file = text_or_empty(config, "reward.file");
  settings.command = text_or_empty(config, "reward.command");
  settings.model = text_or_empty(config, "reward.model");
  settings.rows_per_call = config.integer("reward.rows_per_call");
  settings.timeout_s = config.seconds("reward.timeout");
  return settings;
}

}  // namespace mgpu::rewards
