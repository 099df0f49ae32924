#pragma once

#include <vector>

#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

namespace mgpu::jobs {

/// Rules between the keys of job generate, for --check and before any work.
///
/// Errors: Failure (exit 78) that shows all that the keys cannot mean.
void check_generate_job(const Config& config, int ranks);

/// Whether the model's folder and the prompts are there.
///
/// Errors: Failure E603 (exit 66).
void check_generate_files(const Config& config);

/// What --check opens: the model's folder, and all prompts, which are tokenized.
std::vector<run::FileCheck> generate_file_checks(const Config& config);

/// Job generate: prompts in, completions out, into table `samples` of results.h5.
///
/// Ranks:  collective over the world; each group of ranks holds a model and works on its share.
/// Errors: E531 with the first lines that cannot be used, and those of its phases, on all ranks.
run::JobOutcome run_generate_job(run::RunContext& run);

/// The result file of an unfinished run, of what its journal holds for these prompts and model.
///
/// Ranks:  collective over `world`.
/// Errors: those of seal() and read_generate_inputs(), on all ranks.
run::MergedRun merge_generate_job(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal);

/// Makes journaled chunks of format 1 into chunks of table `samples` as it is now. Local.
/// Errors: those of read_generate_inputs().
store::UpgradeChunk upgrade_generate_chunks(const Config& config);

}  // namespace mgpu::jobs
