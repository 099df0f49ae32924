#include <mgpu/recipes/recipe.hpp>

#include "recipes/lm/train.hpp"

namespace mgpu::recipes {

Recipe sft_recipe() {
  Recipe recipe = language_model_recipe();
  recipe.name = "sft";
  recipe.is_chosen = trains_language_model;
  return recipe;
}

}  // namespace mgpu::recipes
