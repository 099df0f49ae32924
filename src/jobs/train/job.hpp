#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>

namespace mgpu::jobs {

/// Rules between the keys of job train, for --check and before any work.
///
/// Errors: Failure (exit 78) that shows all that this many ranks cannot do.
void check_train_job(const Config& config, int ranks);

/// Whether the files that keys of job train name are there; for one rank, before a run directory
/// is made.
///
/// Errors: Failure E603 (exit 66).
void check_train_files(const Config& config);

/// What --check opens: the histories of data.path, where it is set.
std::vector<run::FileCheck> train_file_checks(const Config& config);

/// Bytes that its checkpoints, journal and results need at most.
std::uint64_t train_disk_bytes(const Config& config);

/// Passes, memory, traffic and files of job train, by arithmetic.
///
/// Errors: those of check_train_files().
report::Plan plan_train(const Config& config, const run::PlanMachine& machine);

/// Job train: histories, training, evaluation, results.h5.
///
/// Source: guide 001; Laskin et al. 2022, arXiv 2210.14215.
/// Ranks:  collective over the world.
/// Errors: Failures of its phases, the same on all ranks wherever more than one could notice.
run::JobOutcome run_train_job(run::RunContext& run);

}  // namespace mgpu::jobs
