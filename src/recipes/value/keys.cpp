#include "keys.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/common_keys.hpp>

namespace mgpu::recipes {
namespace {

using lm::ValueKind;

constexpr std::array kLosses = {
    std::pair{"bce", ValueLossKind::bce},
    std::pair{"mse", ValueLossKind::mse},
    std::pair{"mle", ValueLossKind::mle},
    std::pair{"bradley_terry", ValueLossKind::bradley_terry},
};
constexpr std::array kHeads = {ValueKind::bernoulli, ValueKind::histogram, ValueKind::expectation};

KeySpec bound_key(const char* name, const char* default_value, const char* summary) {
  KeySpec spec;
  spec.name = name;
  spec.type = KeyType::number;
  spec.default_value = default_value;
  spec.summary = summary;
  spec.min = -1e12;
  spec.max = 1e12;
  return spec;
}

/// Returns the loss that value.loss=auto selects for a model with this head.
ValueLossKind own_loss(ValueKind head) {
  if (head == ValueKind::histogram) return ValueLossKind::mle;
  return head == ValueKind::bernoulli ? ValueLossKind::bce : ValueLossKind::mse;
}

bool fits(ValueLossKind loss, ValueKind head) {
  switch (loss) {
    case ValueLossKind::bce:
      return head == ValueKind::bernoulli;
    case ValueLossKind::mle:
      return head == ValueKind::histogram;
    case ValueLossKind::mse:
    case ValueLossKind::bradley_terry:
      break;
  }
  return head != ValueKind::histogram;
}

const char* name_of(ValueLossKind loss) {
  return std::ranges::find(kLosses, loss, &std::pair<const char*, ValueLossKind>::second)->first;
}

void check_value_loss(const Config& config) {
  const ValueSettings settings = read_value_settings(config);
  if (!fits(settings.kind, settings.head.kind)) {
    const std::string head = lm::name_of(settings.head.kind);
    throw config.problem(
        "E124", "value.loss",
        std::string("`value.loss` ") + name_of(settings.kind) + " is not for head " + head,
        std::string("value.loss=") + name_of(own_loss(settings.head.kind)));
  }
  if (settings.compares_pairs() && !settings.has_pairs)
    throw config.problem("E124", "value.loss",
                         "`value.loss` bradley_terry compares two completions of a prompt",
                         "value.data=preferences, with `prompt`, `chosen` and `rejected`");
}

void check_preferences(const Config& config) {
  const ValueSettings settings = read_value_settings(config);
  if (settings.draws_preferences() && !settings.has_pairs)
    throw config.problem("E124", "value.preference_beta",
                         "`value.preference_beta` draws which completion of a pair is preferred, "
                         "and the rows are no pairs",
                         "value.data=preferences");
}

void check_equal_labels(const Config& config) {
  const ValueSettings settings = read_value_settings(config);
  if (settings.drops_equal_labels && settings.has_pairs)
    throw config.problem("E124", "value.drop_equal_labels",
                         "the two completions of a preference never have equal labels",
                         "value.data=rewards, or value.drop_equal_labels=false");
}

void check_atoms(const Config& config) {
  const ValueSettings settings = read_value_settings(config);
  const bool is_histogram = settings.head.kind == ValueKind::histogram;
  if (!is_histogram && config.integer("value.atoms") != 11)
    throw config.problem("E124", "value.atoms",
                         "`value.atoms` means something with value.head=histogram only",
                         "value.head=histogram");
  if (settings.head.lowest >= settings.head.highest)
    throw config.problem("E107", "value.lowest", "`value.lowest` is not below `value.highest`",
                         "value.lowest=0 value.highest=1");
  const bool has_bounds = settings.head.lowest != 0.0 || settings.head.highest != 1.0;
  if (settings.head.kind == ValueKind::bernoulli && has_bounds)
    throw config.problem("E124", "value.lowest",
                         "the returns of value.head=bernoulli are from 0 to 1",
                         "value.head=histogram");
}

void refuse_template(const Config& config) {
  if (!config.is("data.template", "null"))
    throw config.problem("E124", "data.template",
                         "this recipe learns the returns of completions, and `label` has them",
                         "remove it");
}

}  // namespace

void add_value_keys(KeyTable& table) {
  KeySpec head{.name = "value.head",
               .type = KeyType::choice,
               .default_value = "bernoulli",
               .summary =
                   "outputs of the model: the logit of the probability that the return is "
                   "1, a distribution over value.atoms, or the expected return"};
  for (const ValueKind kind : kHeads)
    head.choices.emplace_back(lm::name_of(kind));
  table.add(std::move(head));
  KeySpec loss{.name = "value.loss",
               .type = KeyType::choice,
               .default_value = "auto",
               .summary =
                   "loss of a value: bce of bernoulli, mse of an expected return, mle of "
                   "histogram, bradley_terry of a pair; auto: that of the head",
               .choices = {"auto"}};
  for (const auto& [name, kind] : kLosses)
    loss.choices.emplace_back(name);
  table.add(std::move(loss));
  table.add({.name = "value.data",
             .type = KeyType::choice,
             .default_value = "rewards",
             .summary = "rows: completions with a number `label`, or preferences with `chosen` "
                        "(label 1) and `rejected` (label 0)",
             .choices = {"rewards", "preferences"}});
  table.add({.name = "value.drop_equal_labels",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "true: leave out the rows of each prompt whose labels are all equal, as Q# "
                        "does"});
  table.add({.name = "value.preference_beta",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "above 0: the chosen completion stays the preferred one with probability "
                        "sigmoid(beta (score_chosen - score_rejected)), else both are exchanged; "
                        "0: nothing is drawn",
             .min = 0,
             .max = 1e6});
  table.add({.name = "value.atoms",
             .type = KeyType::integer,
             .default_value = "11",
             .summary = "values that a return can have, from value.lowest to value.highest, for "
                        "value.head=histogram",
             .min = 2,
             .max = 4096});
  table.add(bound_key("value.lowest", "0.0",
                      "lowest return: the first atom; the middle of both bounds divides good from "
                      "bad in the accuracy"));
  table.add(bound_key("value.highest", "1.0", "highest return: the last atom"));
  table.add({.name = "value.lm_weight",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "weight of the cross-entropy of the learned tokens, which is added to the "
                        "loss; it helps a model that begins with random weights",
             .min = 0,
             .max = 1e3});
}

bool has_value_keys(const Config& config) {
  const auto names = config.not_default();
  return std::ranges::any_of(names, [](const auto& name) { return name.starts_with("value."); });
}

void check_value_keys(const Config& config) {
  check_all({[&] { check_value_loss(config); }, [&] { check_atoms(config); },
             [&] { check_preferences(config); }, [&] { check_equal_labels(config); },
             [&] { refuse_template(config); }});
}

ValueSettings read_value_settings(const Config& config) {
  ValueSettings settings;
  for (const ValueKind kind : kHeads)
    if (config.is("value.head", lm::name_of(kind))) settings.head.kind = kind;
  const bool is_histogram = settings.head.kind == ValueKind::histogram;
  settings.head.outputs = is_histogram ? config.integer("value.atoms") : 1;
  settings.head.lowest = config.number("value.lowest");
  settings.head.highest = config.number("value.highest");
  settings.kind = own_loss(settings.head.kind);
  for (const auto& [name, kind] : kLosses)
    if (config.is("value.loss", name)) settings.kind = kind;
  settings.has_pairs = config.is("value.data", "preferences");
  settings.drops_equal_labels = config.flag("value.drop_equal_labels");
  settings.lm_weight = config.number("value.lm_weight");
  settings.preference_beta = config.number("value.preference_beta");
  settings.seed = read_seed(config);
  return settings;
}

}  // namespace mgpu::recipes
