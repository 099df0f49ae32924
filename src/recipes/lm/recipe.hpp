#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/recipes/recipe.hpp>

#include "keys.hpp"
#include "method.hpp"

namespace mgpu::recipes {

/// A recipe that trains a language model. It packs examples from rows or from LmMethod::read(),
/// trains on them, saves checkpoints as Hugging Face folders, and writes the curves of loss and
/// accuracy to results.h5.
class LmRecipe final : public Recipe {
public:
  /// `config` must outlive the recipe.
  explicit LmRecipe(const Config& config,
                    std::unique_ptr<const LmMethod> method = std::make_unique<LmMethod>())
      : config_(config),
        method_(std::move(method)),
        settings_(read_lm_train_settings(config, *method_)) {}

  const LoopSettings& loop() const override { return settings_.loop; }

  std::optional<report::Note> cheaper_evaluation() const override {
    if (!settings_.eval_rows) return std::nullopt;
    if (!settings_.eval_rows->generated)
      return report::Note{"", "data.eval_path", "Fewer held-out rows take less time"};
    return report::Note{"", "data.eval_path",
                        "data.eval_path=FILE with fewer rows replaces the split validation"};
  }

  /// Checks the files that are named by keys.
  /// Errors: Failure E603 (exit 66) for a missing file; E107 (exit 78) if a model has fewer
  ///         positions than train.seq_len; those of check_chat_template(), read_lm_config() and
  ///         LmMethod::check_files().
  void check_files() const override;
  void check_weights() const override;
  std::vector<run::FileCheck> file_checks() const override;
  std::uint64_t disk_bytes() const override;
  std::map<std::string, std::string> model_files() const override {
    return method_->model_files(settings_.folder);
  }
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;

  /// Writes the curves in the newest checkpoint of an unfinished run to results.h5.
  /// Ranks:  collective over `world`.
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  const Config& config_;
  std::unique_ptr<const LmMethod> method_;
  LmTrainSettings settings_;
};

/// Checks the rules between the keys of job train with a language model.
/// Errors: Failure (exit 78).
void check_lm_keys(const Config& config, int ranks, const LmMethod& method = LmMethod());

/// Returns the registry entry of recipe sft without its name. Other recipes of language models
/// start from this entry and replace its members.
RecipeSpec language_model_recipe();

}  // namespace mgpu::recipes
