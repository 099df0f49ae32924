#include "latent_keys.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <mgpu/config/check_all.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "latent_recipe.hpp"

namespace mgpu::recipes {
namespace {

/// Returns whether a key applies only to a language model or to rows of text.
bool is_of_text(std::string_view name) {
  constexpr std::array kKeys = {std::string_view("train.seq_len"),
                                std::string_view("train.gradient_checkpointing"),
                                std::string_view("train.share_prompts"),
                                std::string_view("train.mixed_precision"),
                                std::string_view("prm.head"),
                                std::string_view("prm.step_separator")};
  if (std::ranges::find(kKeys, name) != kKeys.end()) return true;
  return (name.starts_with("model.") || name.starts_with("data.")) && name != "data.path";
}

void refuse_text_keys(const Config& config) {
  for (const std::string& name : config.not_default())
    if (is_of_text(name))
      throw config.problem("E124", name,
                           "`" + name +
                               "` has no meaning with prm.input=latents, whose rows are "
                               "latent states without texts",
                           "remove it, or prm.input=text");
}

void check_path(const Config& config) {
  const std::filesystem::path path = input::read_row_options(config).path;
  if (!path.empty() && is_tree_file(path)) return;
  throw config.problem("E107", "data.path",
                       "prm.input=latents needs a result file of job collect in `data.path`",
                       "data.path=outputs/NAME/latest/results.h5");
}

}  // namespace

LatentSettings read_latent_settings(const Config& config) {
  LatentSettings settings;
  settings.loop = read_loop_settings(config);
  settings.prm = read_prm_settings(config);
  settings.path = input::read_row_options(config).path.string();
  if (settings.prm.held_out > 0.0) {
    settings.loop.evaluation_values = {"loss", "accuracy"};
    for (const ReportedValue& value : PrmLoss::reported_values())
      settings.loop.evaluation_values.push_back(value.name);
  }
  settings.loop.evaluates_last_step = true;
  settings.loop.accuracy_scalar = "accuracy";
  return settings;
}

void check_latent_keys(const Config& config) {
  check_all({[&] { refuse_text_keys(config); }, [&] { check_path(config); }});
}

void check_latent_prm_keys(const Config& config, int ranks) {
  check_all({[&] { read_loop_settings(config); }, [&] { train::check_batch(config, ranks); },
             [&] { refuse_keys_of_other_recipes(config, recipe_of(config)); },
             [&] { check_latent_keys(config); }});
}

}  // namespace mgpu::recipes
