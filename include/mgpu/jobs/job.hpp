#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/error_page.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/compare_runs.hpp>
#include <mgpu/run/export_format.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

namespace mgpu::jobs {

/// A job with its settings for one run. The constructor parses the keys, and all methods use the
/// parsed settings.
class Job {
public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  Job(Job&&) = delete;
  Job& operator=(Job&&) = delete;
  virtual ~Job() = default;

  /// Returns the seed, the chunk size, the schedule and the part of the run, from the keys run.*.
  virtual const run::JobKeys& run_keys() const = 0;

  /// Checks that all files named by the job's keys exist. A run calls this before it makes its
  /// directory. Local.
  /// Errors: Failure, such as E603 (exit 66) for a missing file.
  virtual void check_files() const = 0;

  /// Returns the checks of input files that --check makes, in the order of the output. The checks
  /// refer to this job, which must outlive them. Local.
  virtual std::vector<run::FileCheck> file_checks() const = 0;

  /// Returns an upper bound of the bytes that a run writes. Local; check_files() must have
  /// succeeded.
  virtual std::uint64_t disk_bytes() const = 0;

  /// Estimates memory, time and disk space of a run on `machine`, without measuring. Local.
  /// Errors: those of check_files(), and of reading these files.
  virtual report::Plan plan(const run::PlanMachine& machine) const = 0;

  /// Runs the job. `run.config` must be the configuration from which the job was made.
  /// Ranks:  collective over the world.
  /// Errors: Failures of the job's phases. All ranks throw a failure that they have agreed on.
  virtual run::JobOutcome run(run::RunContext& run) const = 0;

  /// Writes the result files of an unfinished run from its journal, for --merge. `place.config`
  /// must be the configuration from which the job was made.
  /// Ranks:  collective over `world`.
  virtual run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) const = 0;

  /// Returns a function that converts a chunk of a journal of format 1 to the current format.
  /// Local.
  /// Errors: Error if JobSpec::has_parts is false.
  virtual store::UpgradeChunk upgrade_chunks() const;
};

/// An entry of the registry of jobs, from which the key `job` chooses one. A new job needs a folder
/// in src/jobs with a function NAME_job(), and its NAME in MGPU_JOBS of src/jobs/registry.cpp.
struct JobSpec {
  std::string_view name;  // value of the key `job`
  std::string_view text;  // one line that describes the job

  /// Functions that add this job's keys to the table. The keys that every job reads are not among
  /// them. Several jobs may use the same function.
  std::vector<AddKeys> keys;

  /// Checks the rules between the job's keys, for --check and before any work. It is also called
  /// for configurations with wrong values, so that all problems are shown together. Local.
  /// Errors: Failure, such as exit 78 for keys that contradict each other, and exit 69 for keys
  ///         that this build or the number of ranks does not support.
  void (*check)(const Config& config, int ranks);

  /// Makes the job. `config` must be a configuration that check() accepts, and must outlive the
  /// job. Local.
  std::unique_ptr<Job> (*read)(const Config& config);

  /// Returns the chunk size that run.chunk_size=auto stands for with the data of this job. If the
  /// pointer is nullptr, `auto` always stands for run::kLargestAutoChunk. Local.
  std::int64_t (*auto_chunk_size)(const Config& config) = nullptr;

  /// The --explain texts of the error codes that only this job uses.
  std::span<const ErrorPage> errors{};

  /// Formats of --export for the result file of this job, in addition to jsonl (JSON lines of table
  /// `samples`).
  std::vector<run::ExportFormat> exports{};

  /// Compares two runs of this job, for --compare; nullptr: runs of this job cannot be compared.
  run::CompareRuns compare = nullptr;

  /// Whether a run may do only one part of the work (run.worker_id, run.total_workers), so that
  /// --merge can join the runs of all parts.
  bool has_parts = false;
};

/// Returns all jobs, in the order in which --explain job lists their names.
std::span<const JobSpec> jobs();

/// Returns the job that the key `job` chooses.
const JobSpec& job_of(const Config& config);

/// Returns the configuration with a number for run.chunk_size. `auto` becomes the number that
/// JobSpec::auto_chunk_size returns. The number belongs to a run's identity. Local.
Config with_chunk_size(const Config& config);

/// Returns the result of with_chunk_size(config) on every rank. Only rank 0 counts the rows of the
/// data.
/// Ranks:  collective over `world`.
Config with_chunk_size(const cluster::Group& world, const Config& config);

/// Returns the formats of --export that the job has: jsonl first, then JobSpec::exports.
std::vector<run::ExportFormat> export_formats(const JobSpec& job);

/// Makes the job that the key `job` chooses, from a configuration that must outlive it. Local.
std::unique_ptr<Job> read_job(const Config& config);

/// Makes the job that the key `job` chooses, on every rank. The configuration must outlive the job.
/// If this fails on one rank, all ranks throw.
/// Ranks:  collective over `world`.
std::unique_ptr<Job> read_job(const cluster::Group& world, const Config& config);

/// Makes and runs the job that `run.config` chooses.
/// Ranks:  collective over the world.
run::JobOutcome run_job(run::RunContext& run);

/// Adds the keys of all jobs, each key once.
void add_job_keys(KeyTable& table);

/// Returns Config::notes(), and one more note for each key that is set to another value than its
/// default although the chosen job does not read the key.
std::vector<std::string> notes_for_job(const Config& config);

}  // namespace mgpu::jobs
