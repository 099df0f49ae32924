#include "keys.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace mgpu::recipes {
namespace {

constexpr std::array kKtoKinds = {
    std::pair{"kto", KtoKind::kto},
    std::pair{"apo_zero_unpaired", KtoKind::apo_zero_unpaired},
};

KeySpec weight_key(const char* name, const char* summary) {
  return {.name = name,
          .type = KeyType::number,
          .default_value = "1.0",
          .summary = summary,
          .min = 0,
          .max = 1e3};
}

}  // namespace

void add_kto_keys(KeyTable& table) {
  KeySpec loss{.name = "kto.loss",
               .type = KeyType::choice,
               .default_value = "kto",
               .summary =
                   "loss of a judged completion; kto compares it with the KL divergence of "
                   "the batch, apo_zero_unpaired with 0"};
  for (const auto& [name, kind] : kKtoKinds)
    loss.choices.emplace_back(name);
  table.add(std::move(loss));
  table.add({.name = "kto.beta",
             .type = KeyType::number,
             .default_value = "0.1",
             .summary =
                 "how strongly the start model holds the trained one; rewards are beta times "
                 "the log-ratio of both",
             .min = 1e-6,
             .max = 1e3});
  table.add(weight_key("kto.desirable_weight",
                       "weight of the losses of good completions, for data with fewer of them"));
  table.add(weight_key("kto.undesirable_weight",
                       "weight of the losses of bad completions, for data with fewer of them"));
}

bool has_kto_keys(const Config& config) {
  const auto names = config.not_default();
  return std::ranges::any_of(names, [](const auto& name) { return name.starts_with("kto."); });
}

void check_kto_keys(const Config& config) {
  const KtoSettings settings = read_kto_settings(config);
  if (settings.desirable_weight > 0.0 || settings.undesirable_weight > 0.0) return;
  throw config.problem("E107", "kto.desirable_weight",
                       "`kto.desirable_weight` and `kto.undesirable_weight` are both 0, so nothing "
                       "would be learned",
                       "kto.desirable_weight=1");
}

KtoSettings read_kto_settings(const Config& config) {
  KtoSettings settings;
  for (const auto& [name, kind] : kKtoKinds)
    if (config.is("kto.loss", name)) settings.kind = kind;
  settings.beta = config.number("kto.beta");
  settings.desirable_weight = config.number("kto.desirable_weight");
  settings.undesirable_weight = config.number("kto.undesirable_weight");
  return settings;
}

}  // namespace mgpu::recipes
