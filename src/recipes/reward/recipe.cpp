#include "recipes/lm/recipe.hpp"

#include <memory>

#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "method.hpp"

namespace mgpu::recipes {

RecipeSpec reward_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "reward";
  recipe.summary = "a reward model on preferences";
  recipe.chosen_by = "model.path=FOLDER and train.recipe=reward";
  recipe.keys.push_back(add_reward_model_keys);
  recipe.is_chosen = [](const Config& config) {
    const bool is_named = names_recipe(config, "reward");
    return trains_language_model(config) && (is_named || has_reward_model_keys(config));
  };
  recipe.check = [](const Config& config, int ranks) {
    check_lm_keys(config, ranks, RewardMethod(read_reward_model_settings(config)));
  };
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    return std::make_unique<LmRecipe>(
        config, std::make_unique<RewardMethod>(read_reward_model_settings(config)));
  };
  return recipe;
}

}  // namespace mgpu::recipes
