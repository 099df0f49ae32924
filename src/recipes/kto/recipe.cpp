#include "recipes/lm/recipe.hpp"

#include <memory>

#include <mgpu/config/check_all.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "method.hpp"
#include "recipes/lm/reference.hpp"

namespace mgpu::recipes {

RecipeSpec kto_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "kto";
  recipe.summary = "a language model on judged completions";
  recipe.chosen_by = "model.path=FOLDER and train.recipe=kto";
  recipe.files = {kReferenceFile};
  recipe.keys.push_back(add_kto_keys);
  recipe.is_chosen = [](const Config& config) {
    const bool is_named = names_recipe(config, "kto");
    return trains_language_model(config) && (is_named || has_kto_keys(config));
  };
  recipe.check = [](const Config& config, int ranks) {
    const KtoMethod method(read_kto_settings(config));
    check_all({[&] { check_lm_keys(config, ranks, method); }, [&] { check_kto_keys(config); }});
  };
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    return std::make_unique<LmRecipe>(config,
                                      std::make_unique<KtoMethod>(read_kto_settings(config)));
  };
  return recipe;
}

}  // namespace mgpu::recipes
