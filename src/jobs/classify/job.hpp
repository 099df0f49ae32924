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

/// Checks rules between the keys of job classify, for --check and before any work.
/// Errors: Failure (exit 78).
void check_classify_job(const Config& config, int ranks);

/// Checks that the model's folder, the data and the file of strategies exist.
/// Errors: Failure E603 (exit 66).
void check_classify_files(const Config& config);

/// The files that --check opens: the model's folder, and the data with its prompts.
std::vector<run::FileCheck> classify_file_checks(const Config& config);

/// Upper bound of the bytes that a run with these keys writes.
std::uint64_t classify_disk_bytes(const Config& config);

/// Estimates the cost of a run by arithmetic on the folder's headers and the size of the data.
report::Plan plan_classify(const Config& config, const run::PlanMachine& machine);

/// Job classify assigns a label to each text of a file. Table `samples` of results.h5 has the
/// labels; further tables measure their quality.
///
/// Ranks:  collective over the world; each group of ranks holds a model and works on chunks.
/// Errors: those of its phases, on all ranks.
run::JobOutcome run_classify_job(run::RunContext& run);

/// Makes the result file of an unfinished run from its journal, for these rows, this model and this
/// strategy.
///
/// Ranks:  collective over `world`.
run::MergedRun merge_classify_job(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal);

/// Converts journaled chunks of format 1 to chunks of the current table `samples`. Local.
/// Errors: those of read_classify_inputs().
store::UpgradeChunk upgrade_classify_chunks(const Config& config);

}  // namespace mgpu::jobs
