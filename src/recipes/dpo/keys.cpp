#include "keys.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace mgpu::recipes {
namespace {

constexpr std::array kKinds = {
    std::pair{"sigmoid", DpoKind::sigmoid},   std::pair{"ipo", DpoKind::ipo},
    std::pair{"hinge", DpoKind::hinge},       std::pair{"robust", DpoKind::robust},
    std::pair{"apo_zero", DpoKind::apo_zero}, std::pair{"sigmoid_norm", DpoKind::sigmoid_norm},
};

}  // namespace

void add_dpo_keys(KeyTable& table) {
  KeySpec loss{.name = "dpo.loss",
               .type = KeyType::choice,
               .default_value = "sigmoid",
               .summary =
                   "loss of a pair of completions; robust is for pairs of which a share "
                   "dpo.label_smoothing is in the wrong order",
               .foreign = {{"loss_type", "TRL", "here it is `dpo.loss`, with recipe dpo"}}};
  for (const auto& [name, kind] : kKinds)
    loss.choices.emplace_back(name);
  table.add(std::move(loss));
  table.add({.name = "dpo.beta",
             .type = KeyType::number,
             .default_value = "0.1",
             .summary =
                 "how strongly the start model holds the trained one; rewards are beta times "
                 "the log-ratio of both",
             .min = 1e-6,
             .max = 1e3});
  table.add({.name = "dpo.reference",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "Hugging Face folder, or name in the local cache, of the reference model, "
                        "which has the tokenizer of the trained one; null: the start model",
             .choices = {"null"},
             .is_model = true});
  table.add({.name = "dpo.label_smoothing",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "share of pairs whose chosen completion is the worse one, for "
                        "dpo.loss=robust",
             .min = 0,
             .max = 0.499});
  table.add({.name = "dpo.sft_weight",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "weight of the cross-entropy of the chosen completions, which is added to "
                        "the loss",
             .min = 0,
             .max = 1e3,
             .foreign = {{"rpo_alpha", "TRL", "here it is `dpo.sft_weight`"}}});
}

bool has_dpo_keys(const Config& config) {
  const auto names = config.not_default();
  return std::ranges::any_of(names, [](const auto& name) { return name.starts_with("dpo."); });
}

void check_dpo_keys(const Config& config) {
  const bool is_robust = config.is("dpo.loss", "robust");
  const bool smooths = config.number("dpo.label_smoothing") > 0.0;
  if (smooths && !is_robust)
    throw config.problem("E124", "dpo.label_smoothing",
                         "`dpo.label_smoothing` means something with dpo.loss=robust only",
                         "dpo.loss=robust");
  if (is_robust && !smooths)
    throw config.problem("E107", "dpo.loss",
                         "`dpo.loss` robust needs to know how many labels are wrong",
                         "dpo.label_smoothing=0.1, or dpo.loss=sigmoid");
}

DpoSettings read_dpo_settings(const Config& config) {
  DpoSettings settings;
  for (const auto& [name, kind] : kKinds)
    if (config.is("dpo.loss", name)) settings.kind = kind;
  settings.beta = config.number("dpo.beta");
  settings.label_smoothing = config.number("dpo.label_smoothing");
  settings.sft_weight = config.number("dpo.sft_weight");
  if (!config.is("dpo.reference", "null")) settings.reference = config.text("dpo.reference");
  return settings;
}

}  // namespace mgpu::recipes
