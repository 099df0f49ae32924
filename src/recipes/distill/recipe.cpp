#include "recipes/lm/recipe.hpp"

#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"

namespace mgpu::recipes {

RecipeSpec distill_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "distill";
  recipe.chosen_by = "model.path=FOLDER and distill.targets=FOLDER or distill.model=FOLDER";
  recipe.keys.push_back(add_distill_keys);
  recipe.is_chosen = [](const Config& config) {
    return trains_language_model(config) && has_distill_keys(config);
  };
  return recipe;
}

}  // namespace mgpu::recipes
