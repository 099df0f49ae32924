#include <mgpu/ad/ad_transformer_config.hpp>
#include <mgpu/ad/data_config.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "merge.hpp"
#include "plan.hpp"
#include "train.hpp"

namespace mgpu::recipes {

Recipe ad_recipe() {
  return {
      .name = "ad",
      .summary = "Algorithm Distillation",
      .chosen_by = "",
      .keys = {ad::add_model_keys, ad::add_data_keys, add_label_smoothing_key, add_evaluate_keys},
      .is_chosen = [](const Config&) { return true; },
      .check = check_ad_training,
      .check_files = check_ad_files,
      .file_checks = ad_file_checks,
      .disk_bytes = ad_disk_bytes,
      .plan = plan_ad_training,
      .run = run_ad_training,
      .merge = merge_ad_training};
}

}  // namespace mgpu::recipes
