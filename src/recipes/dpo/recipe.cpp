#include "recipes/lm/recipe.hpp"

#include <memory>

#include <mgpu/config/check_all.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "method.hpp"
#include "recipes/lm/reference.hpp"

namespace mgpu::recipes {

RecipeSpec dpo_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "dpo";
  recipe.summary = "a language model on preferences";
  recipe.chosen_by = "model.path=FOLDER and train.recipe=dpo";
  recipe.files = {kReferenceFile};
  recipe.keys.push_back(add_dpo_keys);
  recipe.is_chosen = [](const Config& config) {
    const bool is_named = names_recipe(config, "dpo");
    return trains_language_model(config) && (is_named || has_dpo_keys(config));
  };
  recipe.check = [](const Config& config, int ranks) {
    const DpoMethod method(read_dpo_settings(config));
    check_all({[&] { check_lm_keys(config, ranks, method); }, [&] { check_dpo_keys(config); }});
  };
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    return std::make_unique<LmRecipe>(config,
                                      std::make_unique<DpoMethod>(read_dpo_settings(config)));
  };
  return recipe;
}

}  // namespace mgpu::recipes
