#include "recipes/lm/recipe.hpp"

#include <memory>

#include <mgpu/config/check_all.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "latent_keys.hpp"
#include "latent_recipe.hpp"
#include "method.hpp"

namespace mgpu::recipes {

RecipeSpec prm_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "prm";
  recipe.summary = "a process reward model";
  recipe.chosen_by = "model.path=FOLDER and train.recipe=prm, or prm.input=latents";
  recipe.keys.push_back(add_prm_keys);
  recipe.is_chosen = [](const Config& config) {
    const bool is_named = names_recipe(config, "prm");
    if (learns_latents(config)) return true;
    return trains_language_model(config) && (is_named || has_prm_keys(config));
  };
  recipe.check = [](const Config& config, int ranks) {
    if (learns_latents(config)) return check_latent_prm_keys(config, ranks);
    refuse_latent_keys(config);
    const PrmMethod method(read_prm_settings(config));
    check_all({[&] { check_lm_keys(config, ranks, method); }, [&] { check_prm_keys(config); }});
  };
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    if (learns_latents(config)) return std::make_unique<LatentPrmRecipe>(config);
    return std::make_unique<LmRecipe>(config,
                                      std::make_unique<PrmMethod>(read_prm_settings(config)));
  };
  return recipe;
}

}  // namespace mgpu::recipes
