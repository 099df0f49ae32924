#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/recipes/recipe.hpp>

#include "settings.hpp"

namespace mgpu::recipes {

/// The recipe of Algorithm Distillation: plays or reads histories, trains, evaluates, and writes
/// results.h5.
/// Source: Laskin et al. 2022, arXiv 2210.14215.
class AdRecipe final : public Recipe {
public:
  /// `config` must outlive the recipe.
  explicit AdRecipe(const Config& config) : config_(config), settings_(read_ad_settings(config)) {}

  const LoopSettings& loop() const override { return settings_.loop; }
  bool makes_histories() const override { return settings_.data.path.empty(); }
  std::optional<report::Note> cheaper_evaluation() const override;
  void check_files() const override;
  std::vector<run::FileCheck> file_checks() const override;

  /// Returns an upper bound of the bytes of the journal, histories.h5, results.h5, and all
  /// checkpoints that exist at the same time.
  std::uint64_t disk_bytes() const override;

  /// Estimates memory, time and disk space of a run from the sizes of model and data. Nothing is
  /// measured, so the plan shows the speed that it assumes for each estimated time.
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;

  /// Writes results.h5 of an unfinished run from its journal and its newest checkpoint. Also writes
  /// histories.h5, unless that file is complete or data.path is set. The root attribute `status`
  /// marks files that lack rows. The run can still be resumed.
  ///
  /// Ranks:  collective over `world`.
  /// Errors: those of merged_training(), is_sealed() and seal(), on all ranks.
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  const Config& config_;
  AdSettings settings_;
};

/// Checks the rules between the keys of recipe `ad`, and that `ranks` ranks can share the global
/// batch.
/// Errors: Failure (exit 78).
void check_ad_keys(const Config& config, int ranks);

}  // namespace mgpu::recipes
