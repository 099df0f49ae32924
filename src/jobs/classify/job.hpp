#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

namespace mgpu::jobs {

/// Rules between the keys of job classify, for --check and before any work.
/// Errors: Failure (exit 78).
void check_classify_job(const Config& config, int ranks);

/// Whether the model's folder, the data and the file of strategies are there.
/// Errors: Failure E603 (exit 66).
void check_classify_files(const Config& config);

/// What --check opens: the model's folder, and the data with its prompts.
std::vector<run::FileCheck> classify_file_checks(const Config& config);

/// Bytes that a run of these keys writes at most.
std::uint64_t classify_disk_bytes(const Config& config);

/// What a run will take, by arithmetic on the folder's headers and the size of the data.
report::Plan plan_classify(const Config& config, const run::PlanMachine& machine);

/// Job classify: texts of a file in, a label for each out, into table `samples` of results.h5;
/// beside it tables of how good they are.
///
/// Ranks:  collective over the world; each group of ranks holds a model and works on chunks.
/// Errors: those of its phases, on all ranks.
/// Source: guide 003.
run::JobOutcome run_classify_job(run::RunContext& run);

/// The result file of an unfinished run, of what its journal holds for these rows, this model and
/// this strategy.
///
/// Ranks:  collective over `world`.
run::MergedRun merge_classify_job(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal);

/// Makes journaled chunks of format 1 into chunks of table `samples` as it is now. Local.
/// Errors: those of read_classify_inputs().
store::UpgradeChunk upgrade_classify_chunks(const Config& config);

}  // namespace mgpu::jobs
