#include "recipe.hpp"

#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/data_config.hpp>

#include "histories.hpp"
#include "keys.hpp"

namespace mgpu::recipes {

std::optional<report::Note> AdRecipe::cheaper_evaluation() const {
  const EvaluateConfig& evaluate = settings_.evaluate;
  if (evaluate.runs > 1) {
    const std::string fewer = std::to_string(evaluate.runs / 2);
    return report::Note{"", "evaluate.runs",
                        "evaluate.runs=" + fewer + " plays " + fewer + " rollouts for each goal " +
                            "instead of " + std::to_string(evaluate.runs)};
  }
  if (!evaluate.with_controls) return std::nullopt;
  return report::Note{"", "evaluate.controls",
                      "evaluate.controls=false leaves out the rollouts of the controls"};
}

RecipeSpec ad_recipe() {
  return {
      .name = "ad",
      .summary = "Algorithm Distillation",
      .chosen_by = "",
      .files = {kHistoriesFile},
      .keys = {ad::add_model_keys, ad::add_data_keys, add_label_smoothing_key, add_evaluate_keys},
      .is_chosen = [](const Config&) { return true; },
      .check = check_ad_keys,
      .read = [](const Config& config) -> std::unique_ptr<Recipe> {
        return std::make_unique<AdRecipe>(config);
      }};
}

}  // namespace mgpu::recipes
