#include "recipes/lm/recipe.hpp"

#include <mgpu/config/check_all.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "method.hpp"

namespace mgpu::recipes {

RecipeSpec distill_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "distill";
  recipe.chosen_by = "model.path=FOLDER and distill.targets=FOLDER or distill.model=FOLDER";
  recipe.keys.push_back(add_distill_keys);
  recipe.is_chosen = [](const Config& config) {
    return trains_language_model(config) && has_distill_keys(config);
  };
  recipe.check = [](const Config& config, int ranks) {
    const DistillMethod method(read_distill_settings(config));
    check_all({[&] { check_lm_keys(config, ranks, method); }, [&] { check_distill_keys(config); }});
  };
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    return std::make_unique<LmRecipe>(
        config, std::make_unique<DistillMethod>(read_distill_settings(config)));
  };
  return recipe;
}

}  // namespace mgpu::recipes
