#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/error_page.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/export_format.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

namespace mgpu::jobs {

/// One task of the program, chosen by the key `job`. A job is a folder of files and one row in
/// registry.cpp.
struct Job {
  std::string_view name;  // the value of the key `job`
  std::string_view text;  // one line for --help

  /// The rows of keys that it reads in addition to the common ones. Jobs may share them.
  std::vector<AddKeys> keys;

  /// Checks rules between its keys, for --check and before any work. Local.
  /// Errors: Failure (exit 78 or 69) for what this number of ranks cannot do or this program lacks.
  void (*check)(const Config& config, int ranks);

  /// Checks that the files named by its keys exist, before a run directory is made. Local.
  /// Errors: Failure (exit 66).
  void (*check_files)(const Config& config);

  /// The files that --check opens, in order. Local, after check(); `config` must outlive them.
  std::vector<run::FileCheck> (*file_checks)(const Config& config);

  /// Upper bound of the bytes that a run with these keys writes. Local, after check_files().
  std::uint64_t (*disk_bytes)(const Config& config);

  /// Estimates the cost of a run by arithmetic, without measuring. Local, after check_files().
  report::Plan (*plan)(const Config& config, const run::PlanMachine& machine);

  /// Runs the job. Collective over the world.
  /// Errors: Failures of its phases, the same on all ranks wherever more than one could notice.
  run::JobOutcome (*run)(run::RunContext& run);

  /// Makes the result files of an unfinished run from its journal: see merge_train_job().
  /// Collective.
  run::MergedRun (*merge)(const cluster::Group& world, const run::SealPlace& place,
                          const store::ChunkJournal& journal);

  /// Converts journaled chunks of format 1 to the current format, for jobs with `has_parts`. Local.
  store::UpgradeChunk (*upgrade_chunks)(const Config& config) = nullptr;

  /// The pages of the error codes that only this job has.
  std::span<const ErrorPage> errors{};

  /// Formats of --export for its result file, in addition to JSON lines of table `samples`.
  std::vector<run::ExportFormat> exports{};

  /// Whether a run may do one part of the work, which --merge joins: run.worker_id,
  /// run.total_workers.
  bool has_parts = false;
};

/// All jobs, in the order in which --help lists them.
std::span<const Job> jobs();

/// The job that the configuration selects.
const Job& job_of(const Config& config);

/// Adds the keys of all jobs, each once.
void add_job_keys(KeyTable& table);

/// The notes of the configuration, and one for each changed key that this job does not read.
std::vector<std::string> notes_for_job(const Config& config);

}  // namespace mgpu::jobs
