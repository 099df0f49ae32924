#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/config/key_table.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>

// Job train forwards the functions of mgpu/jobs/job.hpp to the recipe that the configuration
// selects.
namespace mgpu::jobs {

/// The rows of keys of all recipes, and those that recipes share.
std::vector<AddKeys> train_job_keys();

/// Errors: Failure (exit 78) that lists everything this number of ranks cannot do.
void check_train_job(const Config& config, int ranks);

/// Errors: Failure E603 (exit 66).
void check_train_files(const Config& config);

std::vector<run::FileCheck> train_file_checks(const Config& config);
std::uint64_t train_disk_bytes(const Config& config);

/// Errors: those of check_train_files().
report::Plan plan_train(const Config& config, const run::PlanMachine& machine);

/// Ranks:  collective over the world.
/// Errors: Failures of its phases, the same on all ranks wherever more than one could notice.
run::JobOutcome run_train_job(run::RunContext& run);

/// Ranks:  collective over `world`.
run::MergedRun merge_train_job(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal);

}  // namespace mgpu::jobs
