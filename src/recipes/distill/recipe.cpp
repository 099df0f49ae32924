#include "recipes/lm/recipe.hpp"

#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "method.hpp"

namespace mgpu::recipes {

RecipeSpec distill_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "distill";
  recipe.chosen_by = "model.path=FOLDER and distill.targets=FOLDER or distill.model=FOLDER";
  recipe.keys.push_back(add_distill_keys);
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    const auto distill = read_distill_settings(config);
    if (distill && distill->on_policy > 0.0)
      return std::make_unique<LmRecipe>(config, std::make_unique<OnPolicyMethod>());
    return std::make_unique<LmRecipe>(config);
  };
  recipe.is_chosen = [](const Config& config) {
    return trains_language_model(config) && has_distill_keys(config);
  };
  return recipe;
}

}  // namespace mgpu::recipes
