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

/// Checks rules between the keys of job teacher, for --check and before any work.
/// Errors: Failure (exit 78).
void check_teacher_job(const Config& config, int ranks);

/// Checks that the model's folder and the data exist. Errors: Failure E603 (exit 66).
void check_teacher_files(const Config& config);

/// The files that --check opens: the model's folder and the data, whose rows it checks.
std::vector<run::FileCheck> teacher_file_checks(const Config& config);

/// Upper bound of the bytes that a run with these keys writes: journal and sealed file, with a
/// token for every three bytes of data.
std::uint64_t teacher_disk_bytes(const Config& config);

/// Estimates the cost of a run by arithmetic on the folder's headers and the size of the data.
report::Plan plan_teacher(const Config& config, const run::PlanMachine& machine);

/// Job teacher stores a model's next-token distribution at every token of the rows of a file, in
/// table `samples` of results.h5.
///
/// Ranks:  collective over the world; each group of ranks holds a model and works on chunks.
/// Errors: those of its phases, on all ranks.
run::JobOutcome run_teacher_job(run::RunContext& run);

/// Makes the result file of an unfinished run from its journal, for these rows and this model.
///
/// Ranks:  collective over `world`.
run::MergedRun merge_teacher_job(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal);

/// Converts journaled chunks of format 1 to chunks of the current table `samples`. Local.
/// Errors: those of read_teacher_inputs().
store::UpgradeChunk upgrade_teacher_chunks(const Config& config);

}  // namespace mgpu::jobs
