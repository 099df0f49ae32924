#pragma once

#include <vector>

#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

namespace mgpu::jobs {

/// Checks rules between the keys of job generate, for --check and before any work.
///
/// Errors: Failure (exit 78) with all contradictions.
void check_generate_job(const Config& config, int ranks);

/// Checks that the model's folder and the prompts exist.
///
/// Errors: Failure E603 (exit 66).
void check_generate_files(const Config& config);

/// The files that --check opens: the model's folder, and all prompts, which it tokenizes.
std::vector<run::FileCheck> generate_file_checks(const Config& config);

/// Job generate completes prompts. Table `samples` of results.h5 has the completions.
///
/// Ranks:  collective over the world; each group of ranks holds a model and works on its share.
/// Errors: E531 with the first lines that cannot be used, and those of its phases, on all ranks.
run::JobOutcome run_generate_job(run::RunContext& run);

/// Makes the result file of an unfinished run from its journal, for these prompts and this model.
///
/// Ranks:  collective over `world`.
/// Errors: those of seal() and read_generate_inputs(), on all ranks.
run::MergedRun merge_generate_job(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal);

/// Converts journaled chunks of format 1 to chunks of the current table `samples`. Local.
/// Errors: those of read_generate_inputs().
store::UpgradeChunk upgrade_generate_chunks(const Config& config);

}  // namespace mgpu::jobs
