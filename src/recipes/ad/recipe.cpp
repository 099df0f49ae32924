#include "recipe.hpp"

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/data_config.hpp>

#include "keys.hpp"

namespace mgpu::recipes {

RecipeSpec ad_recipe() {
  return {
      .name = "ad",
      .summary = "Algorithm Distillation",
      .chosen_by = "",
      .keys = {ad::add_model_keys, ad::add_data_keys, add_label_smoothing_key, add_evaluate_keys},
      .is_chosen = [](const Config&) { return true; },
      .check = check_ad_keys,
      .read = [](const Config& config) -> std::unique_ptr<Recipe> {
        return std::make_unique<AdRecipe>(config);
      }};
}

}  // namespace mgpu::recipes
