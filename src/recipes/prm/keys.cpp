#include "keys.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/input/row_options.hpp>

#include "recipes/lm/keys.hpp"

namespace mgpu::recipes {
namespace {

constexpr std::array kPrmLosses = {std::pair{"bce", PrmLossKind::bce},
                                   std::pair{"mse", PrmLossKind::mse},
                                   std::pair{"pairwise", PrmLossKind::pairwise}};
constexpr const char* kLineBreak = "\\n";  // means a line break in prm.step_separator

/// Refuses prm.step_separator if data.path is a result file of job collect. Also checks that
/// data.path and data.eval_path are both result files, or both files with texts.
void check_forms(const Config& config) {
  const bool has_trees = is_tree_file(input::read_row_options(config).path);
  if (has_trees && config.is_changed("prm.step_separator"))
    throw config.problem("E124", "prm.step_separator",
                         "`prm.step_separator` follows the steps of text rows, and data.path has "
                         "the tokens that a model drew",
                         "remove it");
  const std::filesystem::path held_out = read_eval_path(config);
  if (held_out.empty() || is_tree_file(held_out) == has_trees) return;
  throw config.problem(
      "E124", "data.eval_path",
      "one of `data.path` and `data.eval_path` is a result file of job collect, the other has rows "
      "of texts, whose steps end with other tokens",
      "two result files, or --export trl of both runs");
}

void check_held_out(const Config& config) {
  if (config.number("prm.held_out") == 0.0 || config.is("data.eval_path", "null")) return;
  throw config.problem("E124", "prm.held_out",
                       "`prm.held_out` and `data.eval_path` both say which solutions are held out",
                       "remove one of them");
}

void refuse_other_rows(const Config& config) {
  if (!config.is("data.template", "null"))
    throw config.problem("E124", "data.template",
                         "this recipe learns the labels of steps, and `labels` has them",
                         "remove it");
  if (datasets::dataset_of(config) != nullptr)
    throw config.problem("E124", datasets::key_of_dataset(config),
                         "no data set has solutions with labels of their steps",
                         "data.path=FILE: results.h5 of job collect, or its --export trl");
}

}  // namespace

void add_prm_keys(KeyTable& table) {
  KeySpec loss{.name = "prm.loss",
               .type = KeyType::choice,
               .default_value = "bce",
               .summary =
                   "loss of a step: bce, mse of its probability, or pairwise: -log sigmoid of "
                   "the difference of two steps of a question"};
  for (const auto& [name, kind] : kPrmLosses)
    loss.choices.emplace_back(name);
  table.add(std::move(loss));
  table.add({.name = "prm.input",
             .type = KeyType::choice,
             .default_value = "text",
             .summary = "what is judged: the steps of texts, or the latent states of agents that "
                        "job collect has stored, by a head without a language model",
             .choices = {"text", "latents"}});
  table.add({.name = "prm.latent_hidden",
             .type = KeyType::integer,
             .default_value = "auto",
             .summary = "hidden units of the head for latent states; auto: half the hidden size of "
                        "the model that made them",
             .min = 1,
             .max = 1 << 20,
             .choices = {"auto"}});
  table.add({.name = "prm.head",
             .type = KeyType::choice,
             .default_value = "scalar",
             .summary =
                 "outputs of the model: the logit of the probability that a step is right, or "
                 "logits of two classes, wrong and right, as in TRL",
             .choices = {"scalar", "two_class"}});
  table.add({.name = "prm.target",
             .type = KeyType::choice,
             .default_value = "values",
             .summary =
                 "what is learned of a step: its value from 0 to 1 where rows have values, or "
                 "its label, 0 or 1",
             .choices = {"values", "labels"}});
  table.add({.name = "prm.threshold",
             .type = KeyType::number,
             .default_value = "0.5",
             .summary = "a step whose value is above it counts as right in accuracy and AUC",
             .min = 0,
             .max = 1});
  table.add({.name = "prm.held_out",
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "share of the questions of data.path that are not trained on, and whose "
                        "steps are measured; drawn by run.seed and the question",
             .min = 0,
             .max = 0.9});
  table.add(
      {.name = "prm.step_separator",
       .type = KeyType::text,
       .default_value = kLineBreak,
       .summary = "text that follows each step of a row with texts, at whose end the step is "
                  "judged, as in TRL; \\n is a line break",
       .foreign = {{"step_separator", "TRL", "here it is `prm.step_separator`, with recipe prm"}}});
  table.add({.name = "prm.shuffle_labels",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "a control: the steps of each question exchange their labels at random, so "
                        "the labels say nothing about the steps"});
}

bool learns_latents(const Config& config) {
  return config.is("prm.input", "latents");
}

void refuse_latent_keys(const Config& config) {
  if (!config.is_changed("prm.latent_hidden")) return;
  throw config.problem("E124", "prm.latent_hidden",
                       "`prm.latent_hidden` has no meaning for steps of texts",
                       "prm.input=latents");
}

bool has_prm_keys(const Config& config) {
  const auto names = config.not_default();
  return std::ranges::any_of(names, [](const auto& name) { return name.starts_with("prm."); });
}

void check_prm_keys(const Config& config) {
  check_all({[&] { check_forms(config); }, [&] { check_held_out(config); },
             [&] { refuse_other_rows(config); }});
}

bool is_tree_file(const std::filesystem::path& path) {
  return path.extension() == ".h5" || path.extension() == ".hdf5";
}

PrmSettings read_prm_settings(const Config& config) {
  PrmSettings settings;
  for (const auto& [name, kind] : kPrmLosses)
    if (config.is("prm.loss", name)) settings.kind = kind;
  settings.head.outputs = config.is("prm.head", "two_class") ? 2 : 1;
  const bool has_trees = is_tree_file(input::read_row_options(config).path);
  settings.head.place = has_trees ? lm::StepPlace::last_token : lm::StepPlace::separator;
  settings.head.separator = config.text("prm.step_separator");
  for (std::size_t at = 0;
       (at = settings.head.separator.find(kLineBreak, at)) != std::string::npos;)
    settings.head.separator.replace(at++, 2, "\n");
  settings.learns_values = config.is("prm.target", "values");
  settings.threshold = config.number("prm.threshold");
  settings.shuffles_labels = config.flag("prm.shuffle_labels");
  settings.held_out = config.number("prm.held_out");
  settings.seed = read_seed(config);
  if (!config.is("prm.latent_hidden", "auto"))
    settings.latent_hidden = config.integer("prm.latent_hidden");
  return settings;
}

}  // namespace mgpu::recipes
