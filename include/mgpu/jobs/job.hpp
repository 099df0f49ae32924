#pragma once

#include <cstdint>
#include <map>
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

/// A job with its settings for one run. The constructor of the derived class parses the keys, and
/// all methods use the parsed settings.
class Job {
public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  Job(Job&&) = delete;
  Job& operator=(Job&&) = delete;
  virtual ~Job() = default;

  /// Returns the values of the keys run.* for the seed, the chunk size, the schedule of chunks, and
  /// the part of the work that this run does (--only I/N).
  virtual const run::JobKeys& run_keys() const = 0;

  /// Checks that all files named by the job's keys exist. An experiment checks the files of those
  /// stages that read no files of other stages. A run calls this before it makes its run directory.
  /// Ranks:  local.
  /// Errors: Failure, such as E603 (exit 66) for a missing file.
  virtual void check_files() const = 0;

  /// Returns the checks of input files that --check makes, in the order in which --check prints
  /// them. The checks refer to this job, which must outlive them.
  /// Ranks:  local.
  virtual std::vector<run::FileCheck> file_checks() const = 0;

  /// Returns an upper bound of the bytes that a run writes to disk. Does not count logs,
  /// TensorBoard files, report.html and the training curves in results.h5. For an experiment, it
  /// covers only the stages that read no files of other stages. Call it after check_files() has
  /// succeeded.
  /// Ranks:  local.
  virtual std::uint64_t disk_bytes() const = 0;

  /// Estimates memory, time and disk space of a run on `machine`, without measuring.
  /// Ranks:  local.
  /// Errors: those of check_files(), and of reading these files.
  virtual report::Plan plan(const run::PlanMachine& machine) const = 0;

  /// Runs the job. `run.config` must be the configuration from which the job was made.
  /// Ranks:  collective over the world of `run.topology`.
  /// Errors: Failures of the job's phases. A CollectiveFailure is thrown on all ranks.
  virtual run::JobOutcome run(run::RunContext& run) const = 0;

  /// Writes the result file of a run from the chunks in `journal`, for --merge. The run is either
  /// unfinished, or a new run. The journal of a new run has the chunks that the runs of the parts
  /// (--only I/N) have written.
  /// `place.config` must be the configuration from which the job was made.
  /// Ranks:  collective over `world`.
  /// Errors: Failure E126 (exit 78) for an experiment, because the journals are in the run
  ///         directories of its stages.
  virtual run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) const = 0;

  /// Returns a function that converts a chunk of a journal of format 1, which old versions of the
  /// program wrote, to the current format.
  /// Ranks:  local.
  /// Errors: Error if the job does not override this method.
  virtual store::UpgradeChunk upgrade_chunks() const;
};

/// An entry of the registry of jobs, from which the key `job` chooses one. A new job needs a folder
/// in src/jobs with a function NAME_job(), and its NAME in MGPU_JOBS of src/jobs/registry.cpp.
struct JobSpec {
  std::string_view name;  // value of the key `job`
  std::string_view text;  // one line that describes the job

  /// Functions that add the keys of this job to a table. Keys that every job reads are added
  /// elsewhere. Several jobs may use the same function.
  std::vector<AddKeys> keys;

  /// Checks the rules between the job's keys, for --check and before any work. It is also called
  /// for configurations with wrong values, so that all problems are shown together. `ranks` is the
  /// number of ranks of the run.
  /// Ranks:  local.
  /// Errors: Failure, such as exit 78 for keys that contradict each other, and exit 69 for keys
  ///         that this build or the number of ranks does not support.
  void (*check)(const Config& config, int ranks);

  /// Makes the job. `config` must be a configuration that check() accepts, and must outlive the
  /// job.
  /// Ranks:  local.
  std::unique_ptr<Job> (*read)(const Config& config);

  /// Returns the chunk size that run.chunk_size=auto stands for, given the data that `config`
  /// names. If the pointer is nullptr, `auto` always stands for run::kLargestAutoChunk.
  /// Ranks:  local.
  std::int64_t (*auto_chunk_size)(const Config& config) = nullptr;

  /// Returns the files of the trained model's folder by name, without the weights. The result is
  /// empty for a model that other jobs cannot read. If the pointer is nullptr, the job trains no
  /// model.
  /// Ranks:  local.
  std::map<std::string, std::string> (*model_files)(const Config& config) = nullptr;

  /// The --explain texts of the error codes that only this job uses.
  std::span<const ErrorPage> errors{};

  /// Formats of --export for the result file of this job, in addition to jsonl (JSON lines of table
  /// `samples`).
  std::vector<run::ExportFormat> exports{};

  /// Compares two runs of this job, for --compare; nullptr: runs of this job cannot be compared.
  run::CompareRuns compare = nullptr;

  /// true: a run may do only one part of the work (keys run.worker_id and run.total_workers, set by
  /// --only I/N), and --merge can join the runs of all parts.
  bool has_parts = false;
};

/// Returns all jobs, in the order in which --explain job lists their names.
std::span<const JobSpec> jobs();

/// Returns the job that the key `job` chooses.
const JobSpec& job_of(const Config& config);

/// Returns the configuration with a number for run.chunk_size: `auto` is replaced by the number for
/// which it stands (JobSpec::auto_chunk_size). The number belongs to a run's identity.
/// Ranks:  local.
Config with_chunk_size(const Config& config);

/// Returns the result of with_chunk_size(config) on every rank. Only rank 0 counts the rows of the
/// data.
/// Ranks:  collective over `world`.
Config with_chunk_size(const cluster::Group& world, const Config& config);

/// Returns the formats of --export that the job has: jsonl first, then JobSpec::exports.
std::vector<run::ExportFormat> export_formats(const JobSpec& job);

/// Makes the job that the key `job` chooses. `config` must outlive the job.
/// Ranks:  local.
std::unique_ptr<Job> read_job(const Config& config);

/// Makes the job that the key `job` chooses, on every rank. `config` must outlive the job. If one
/// rank fails, all ranks throw.
/// Ranks:  collective over `world`.
std::unique_ptr<Job> read_job(const cluster::Group& world, const Config& config);

/// Makes and runs the job that `run.config` chooses.
/// Ranks:  collective over the world of `run.topology`.
run::JobOutcome run_job(run::RunContext& run);

/// Adds the keys of all jobs, each key once.
void add_job_keys(KeyTable& table);

/// Returns Config::notes(), and one more note for each key that the chosen job does not read and
/// whose value is not the default.
std::vector<std::string> notes_for_job(const Config& config);

}  // namespace mgpu::jobs
