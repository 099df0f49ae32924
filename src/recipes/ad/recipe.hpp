#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/recipes/recipe.hpp>

#include "settings.hpp"

namespace mgpu::recipes {

/// The recipe of Algorithm Distillation: histories, training, evaluation, results.h5.
/// Source: Laskin et al. 2022, arXiv 2210.14215.
class AdRecipe final : public Recipe {
public:
  /// `config` must outlive the recipe.
  explicit AdRecipe(const Config& config) : config_(config), settings_(read_ad_settings(config)) {}

  const LoopSettings& loop() const override { return settings_.loop; }
  void check_files() const override;
  std::vector<run::FileCheck> file_checks() const override;

  /// Counts journals and sealed files of histories and evaluation, and all checkpoints that exist
  /// at the same time.
  std::uint64_t disk_bytes() const override;

  /// Computes sizes from shapes. Nothing is measured, so every time in the plan is an estimate,
  /// with the assumed speed next to it.
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;

  /// Writes the result file of an unfinished run from its journal and its newest checkpoint, and
  /// histories.h5 if it is missing. The root attribute `status` marks files that lack rows. The run
  /// can still be resumed.
  ///
  /// Errors: those of CheckpointStore and seal(), on all ranks.
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  const Config& config_;
  AdSettings settings_;
};

/// Checks the rules between the keys of the recipe. Errors: Failure (exit 78).
void check_ad_keys(const Config& config, int ranks);

}  // namespace mgpu::recipes
