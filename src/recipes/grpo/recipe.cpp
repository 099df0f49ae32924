#include "recipes/lm/recipe.hpp"

#include <memory>

#include <mgpu/config/check_all.hpp>
#include <mgpu/recipes/recipe.hpp>
#include <mgpu/rewards/registry.hpp>

#include "keys.hpp"
#include "method.hpp"

namespace mgpu::recipes {
namespace {

GrpoMethod::Start read_start(const Config& config) {
  return {read_trained_folder(config), !config.is("model.path", "null")};
}

}  // namespace

RecipeSpec grpo_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "grpo";
  recipe.summary = "a language model with rewards";
  recipe.chosen_by = "model.path=FOLDER and train.recipe=grpo";
  recipe.keys.insert(recipe.keys.end(), {add_grpo_keys, rewards::add_reward_keys});
  recipe.is_chosen = [](const Config& config) {
    const bool is_named = names_recipe(config, "grpo");
    return trains_language_model(config) && (is_named || has_grpo_keys(config));
  };
  recipe.check = [](const Config& config, int ranks) {
    check_all({[&] {
                 check_lm_keys(config, ranks,
                               GrpoMethod(read_grpo_settings(config), read_start(config)));
               },
               [&] { check_grpo_keys(config); }});
  };
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    return std::make_unique<LmRecipe>(
        config, std::make_unique<GrpoMethod>(read_grpo_settings(config), read_start(config)));
  };
  return recipe;
}

}  // namespace mgpu::recipes
