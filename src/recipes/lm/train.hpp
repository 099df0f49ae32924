#pragma once

#include <vector>

#include <mgpu/recipes/recipe.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>

#include "keys.hpp"

// The recipes of language models: packed examples from rows of a file, training, checkpoints that
// are Hugging Face folders, and results.h5 with the curves.
namespace mgpu::recipes {

/// Errors: Failure (exit 78).
void check_lm_training(const Config& config, int ranks);

/// Errors: Failure E603 (exit 66), and those of read_lm_config.
void check_lm_files(const Config& config);
std::vector<run::FileCheck> lm_file_checks(const Config& config);

std::uint64_t lm_disk_bytes(const Config& config);
report::Plan plan_lm_training(const Config& config, const run::PlanMachine& machine);

/// Ranks: collective over the world.
run::JobOutcome run_lm_training(run::RunContext& run);

/// Makes the result file with the curves of the newest checkpoint. Ranks: collective over `world`.
run::MergedRun merge_lm_training(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal);

/// The part that the recipes of language models share: everything but their names and selecting
/// keys.
Recipe language_model_recipe();

}  // namespace mgpu::recipes
