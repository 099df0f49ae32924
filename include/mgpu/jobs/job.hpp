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

/// Something that the program does as a whole, chosen by the key `job`. A job is its own files
/// and one row in registry.cpp.
struct Job {
  std::string_view name;  // as the key has it
  std::string_view text;  // one line

  /// The rows of keys that it reads, beside the common ones. Jobs may share them.
  std::vector<AddKeys> keys;

  /// Rules between its keys, for --check and before any work. Local.
  /// Errors: Failure (exit 78 or 69) for what this many ranks cannot do or this program lacks.
  void (*check)(const Config& config, int ranks);

  /// Whether the files that its keys name are there, before a run directory is made. Local.
  /// Errors: Failure (exit 66).
  void (*check_files)(const Config& config);

  /// What --check opens, in order. Local, after check(); the config has to outlive them.
  std::vector<run::FileCheck> (*file_checks)(const Config& config);

  /// Bytes that a run of these keys writes at most. Local, after check_files().
  std::uint64_t (*disk_bytes)(const Config& config);

  /// What a run will take, by arithmetic; nothing is measured. Local, after check_files().
  report::Plan (*plan)(const Config& config, const run::PlanMachine& machine);

  /// Collective over the world.
  /// Errors: Failures of its phases, the same on all ranks wherever more than one could notice.
  run::JobOutcome (*run)(run::RunContext& run);

  /// The files of an unfinished run, of what its journal holds: see merge_train_job(). Collective.
  run::MergedRun (*merge)(const cluster::Group& world, const run::SealPlace& place,
                          const store::ChunkJournal& journal);

  /// Makes journaled chunks of format 1 into those of now, where runs have parts. Local.
  store::UpgradeChunk (*upgrade_chunks)(const Config& config) = nullptr;

  /// The pages of the error codes that only this job has.
  std::span<const ErrorPage> errors{};

  /// What --export can write of its result file, beside the rows of table `samples` as JSON lines.
  std::vector<run::ExportFormat> exports{};

  /// Whether runs may do a part each, which --merge joins: run.worker_id, run.total_workers.
  bool has_parts = false;
};

/// All that there are, in the order in which --help lists them.
std::span<const Job> jobs();

/// The job that the configuration chooses.
const Job& job_of(const Config& config);

/// The keys of all jobs, each once.
void add_job_keys(KeyTable& table);

/// The notes of the configuration, and the keys that were given for another job.
std::vector<std::string> notes_for_job(const Config& config);

}  // namespace mgpu::jobs
