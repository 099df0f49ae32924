#include "recipes/lm/recipe.hpp"

#include <mgpu/recipes/recipe.hpp>

namespace mgpu::recipes {

RecipeSpec sft_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "sft";
  recipe.is_chosen = trains_language_model;
  return recipe;
}

}  // namespace mgpu::recipes
