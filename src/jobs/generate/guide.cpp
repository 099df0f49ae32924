#include "guide.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>

#include "same_tokens.hpp"

namespace mgpu::jobs {
namespace {

constexpr const char* kPath = "generate.guide.path";
constexpr const char* kSameTokenizer = "a value model with the tokenizer of model.path";
constexpr std::array kKinds = {lm::GuideKind::qsharp, lm::GuideKind::cd, lm::GuideKind::pita};

KeySpec odds_key(const char* name, const char* summary) {
  KeySpec spec;
  spec.name = name;
  spec.type = KeyType::number;
  spec.default_value = "null";
  spec.summary = summary;
  spec.min = 1e-30;
  spec.max = 1e30;
  spec.choices = {"null"};
  return spec;
}

lm::GuideSettings read_settings(const Config& config) {
  lm::GuideSettings settings;
  for (const lm::GuideKind kind : kKinds)
    if (config.is("generate.guide.algorithm", lm::name_of(kind))) settings.kind = kind;
  settings.eta = config.number("generate.guide.eta");
  settings.candidates = config.integer("generate.guide.top_k");
  if (!config.is("generate.guide.min_odds", "null"))
    settings.min_odds = config.number("generate.guide.min_odds");
  if (!config.is("generate.guide.max_odds", "null"))
    settings.max_odds = config.number("generate.guide.max_odds");
  return settings;
}

/// Refuses keys generate.guide.*, which have no effect without generate.guide.path.
void refuse_keys_without_guide(const Config& config) {
  for (const std::string& name : config.not_default())
    if (name.starts_with("generate.guide."))
      throw config.problem("E124", name, "`" + name + "` means nothing without `" + kPath + "`",
                           "generate.guide.path=FOLDER of a value model");
}

void check_odds(const Config& config) {
  const lm::GuideSettings settings = read_settings(config);
  if (!settings.clamps_odds()) return;
  const char* name = config.is("generate.guide.min_odds", "null") ? "generate.guide.max_odds"
                                                                  : "generate.guide.min_odds";
  if (settings.kind != lm::GuideKind::pita)
    throw config.problem(
        "E124", name,
        "`" + std::string(name) + "` means something with generate.guide.algorithm=pita only",
        "generate.guide.algorithm=pita");
  if (settings.min_odds > settings.max_odds)
    throw config.problem("E107", "generate.guide.min_odds",
                         "`generate.guide.min_odds` is above `generate.guide.max_odds`",
                         "generate.guide.min_odds=0.01 generate.guide.max_odds=0.99");
}

}  // namespace

void add_guide_keys(KeyTable& table) {
  table.add({.name = kPath,
             .type = KeyType::path,
             .default_value = "null",
             .summary = "folder of a value model, which guides the completions of model.path; "
                        "recipe value of job train makes such folders",
             .choices = {"null"},
             .is_model = true});
  KeySpec algorithm{.name = "generate.guide.algorithm",
                    .type = KeyType::choice,
                    .default_value = "qsharp",
                    .summary =
                        "offset of a candidate's logit: qsharp log E[exp(R / eta)], cd "
                        "E[R] / eta, pita the value's logit or score / eta"};
  for (const lm::GuideKind kind : kKinds)
    algorithm.choices.emplace_back(lm::name_of(kind));
  table.add(std::move(algorithm));
  table.add({.name = "generate.guide.eta",
             .type = KeyType::number,
             .default_value = "0.5",
             .summary = "how strongly the model holds the guided one, as in the papers: smaller "
                        "guides more; programs whose eta multiplies mean its inverse",
             .min = 1e-6,
             .max = 1e6});
  table.add({.name = "generate.guide.top_k",
             .type = KeyType::integer,
             .default_value = "20",
             .summary = "most probable tokens whose logits the guide changes; all other logits "
                        "keep their bits",
             .unit = "tokens",
             .min = 1,
             .max = static_cast<double>(kernels::kMaxBest)});
  table.add(
      odds_key("generate.guide.min_odds", "pita: lower bound of the odds exp(value); null: none"));
  table.add(odds_key("generate.guide.max_odds",
                     "pita: upper bound of the odds exp(value), so that no value steers further; "
                     "null: none"));
}

void check_guide_keys(const Config& config) {
  if (config.is(kPath, "null")) {
    refuse_keys_without_guide(config);
    return;
  }
  check_odds(config);
}

std::optional<GuideKeys> read_guide_keys(const Config& config) {
  if (config.is(kPath, "null")) return std::nullopt;
  return GuideKeys{config.text(kPath), read_settings(config)};
}

void check_guide_files(const Config& config, const GuideKeys& keys,
                       const std::filesystem::path& model, bool needs_weights) {
  if (needs_weights)
    rows::check_model_folder(config, keys.folder, kPath);
  else
    rows::check_model_config(config, keys.folder, kPath);
  const lm::ValueHead head = lm::require_value_head(keys.folder);
  const char* unfit = lm::why_unfit(keys.settings, head.kind);
  if (unfit != nullptr)
    throw config.problem("E107", "generate.guide.algorithm", unfit,
                         "generate.guide.algorithm=cd, or a value model with another value.head");
  check_same_tokens(config, {kPath, keys.folder, kSameTokenizer}, model);
}

void check_guide_positions(const Config& config, const lm::LmConfig& guide,
                           const lm::LmConfig& model, const CompletionLengths& lengths) {
  if (guide.rope.kind != lm::RopeKind::none) return;
  std::int64_t needed = lengths.longest_prompt + lengths.max_new_tokens;
  if (model.rope.kind == lm::RopeKind::none) needed = std::min(needed, model.max_positions + 1);
  if (needed <= guide.max_positions) return;
  const std::int64_t room = guide.max_positions - lengths.longest_prompt;
  throw config.problem("E107", kPath,
                       "the guide has " + std::to_string(guide.max_positions) +
                           " positions, and the longest completion with its prompt takes " +
                           std::to_string(needed),
                       room > 0 ? "generate.max_new_tokens=" + std::to_string(room)
                                : "shorter prompts, or a guide with more positions");
}

std::string guide_text(const GuideKeys& keys) {
  const lm::GuideSettings& settings = keys.settings;
  std::string text = "guided by " + keys.folder.string() + ": " + lm::name_of(settings.kind) +
                     report::text_of(", eta %g, the %lld most probable tokens", settings.eta,
                                     static_cast<long long>(settings.candidates));
  if (settings.clamps_odds())
    text += report::text_of(", odds from %g to %g", settings.min_odds, settings.max_odds);
  return text;
}

}  // namespace mgpu::jobs
