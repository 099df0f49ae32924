#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/recipes/recipe.hpp>

#include "latent_task.hpp"

namespace mgpu::recipes {

/// Recipe prm with prm.input=latents: trains a reward head on latent states that job collect has
/// stored. It needs no language model. A checkpoint is a folder with model.safetensors and
/// config.json, which transformers cannot load.
class LatentPrmRecipe final : public Recipe {
public:
  /// `config` must outlive the recipe.
  explicit LatentPrmRecipe(const Config& config);

  const LoopSettings& loop() const override { return settings_.loop; }
  void check_files() const override;
  std::vector<run::FileCheck> file_checks() const override;
  std::uint64_t disk_bytes() const override;
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  LatentHeadSizes sizes() const;
  std::uint64_t weight_bytes() const;

  const Config& config_;
  LatentSettings settings_;
};

/// Checks the rules between the keys of recipe prm with prm.input=latents.
/// Errors: Failure (exit 78).
void check_latent_prm_keys(const Config& config, int ranks);

}  // namespace mgpu::recipes
