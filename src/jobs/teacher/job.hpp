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

/// Rules between the keys of job teacher, for --check and before any work.
/// Errors: Failure (exit 78).
void check_teacher_job(const Config& config, int ranks);

/// Whether the model's folder and the data are there. Errors: Failure E603 (exit 66).
void check_teacher_files(const Config& config);

/// What --check opens: the model's folder and the data, whose rows are looked at.
std::vector<run::FileCheck> teacher_file_checks(const Config& config);

/// Bytes that a run of these keys writes at most: journal and sealed file, with a token for every
/// three bytes of data.
std::uint64_t teacher_disk_bytes(const Config& config);

/// What a run will take, by arithmetic on the folder's headers and the size of the data.
report::Plan plan_teacher(const Config& config, const run::PlanMachine& machine);

/// Job teacher: rows of a file in, what a model says behind each of their tokens out, into table
/// `samples` of results.h5.
///
/// Ranks:  collective over the world; each group of ranks holds a model and works on chunks.
/// Errors: those of its phases, on all ranks.
/// Source: guide 004.
run::JobOutcome run_teacher_job(run::RunContext& run);

/// The result file of an unfinished run, of what its journal holds for these rows and this model.
///
/// Ranks:  collective over `world`.
run::MergedRun merge_teacher_job(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal);

/// Makes journaled chunks of format 1 into chunks of table `samples` as it is now. Local.
/// Errors: those of read_teacher_inputs().
store::UpgradeChunk upgrade_teacher_chunks(const Config& config);

}  // namespace mgpu::jobs
