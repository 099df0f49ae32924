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
#include <mgpu/run/export_format.hpp>
#include <mgpu/run/file_check.hpp>
#include <mgpu/run/merged_run.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

namespace mgpu::jobs {

/// The job of one run. It parses its keys once; all methods use the settings that it parsed.
class Job {
public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  Job(Job&&) = delete;
  Job& operator=(Job&&) = delete;
  virtual ~Job() = default;

  /// The keys run.* that it read.
  virtual const run::JobKeys& run_keys() const = 0;

  /// Checks that the files named by its keys exist, before a run directory is made. Local.
  /// Errors: Failure (exit 66).
  virtual void check_files() const = 0;

  /// The files that --check opens, in order. Local; the job has to outlive them.
  virtual std::vector<run::FileCheck> file_checks() const = 0;

  /// Upper bound of the bytes that a run writes. Local, after check_files().
  virtual std::uint64_t disk_bytes() const = 0;

  /// Estimates memory, time and disk space of a run without measuring. Local.
  /// Errors: those of check_files().
  virtual report::Plan plan(const run::PlanMachine& machine) const = 0;

  /// `run.config` is the configuration that the job was read from. Collective over the world.
  /// Errors: Failures of its phases. They are the same on all ranks if several ranks can detect
  ///         them.
  virtual run::JobOutcome run(run::RunContext& run) const = 0;

  /// Writes the files of an unfinished run from its journal. `place.config` is the configuration
  /// that the job was read from. Collective.
  virtual run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) const = 0;

  /// Converts journaled chunks of format 1 to the current format. Local.
  /// Errors: Error if runs of the job have no parts.
  virtual store::UpgradeChunk upgrade_chunks() const;
};

/// An entry of the registry of jobs; the key `job` chooses one. A job is a folder with a function
/// NAME_job(), and its name in MGPU_JOBS of registry.cpp.
struct JobSpec {
  std::string_view name;  // as the key has it
  std::string_view text;  // one line

  /// The rows of keys that it reads in addition to the common ones. Jobs may share them.
  std::vector<AddKeys> keys;

  /// Checks the rules between its keys, for --check and before any work. Local. It also gets
  /// configurations with wrong values, so that all problems are shown at once.
  /// Errors: Failure (exit 78 or 69) for what this many ranks cannot do or this program lacks.
  void (*check)(const Config& config, int ranks);

  /// Parses the keys of a configuration that check() accepts. The configuration must outlive the
  /// job. Local.
  std::unique_ptr<Job> (*read)(const Config& config);

  /// The pages of the error codes that only this job has.
  std::span<const ErrorPage> errors{};

  /// Formats of --export for its result file, in addition to JSON lines of table `samples`.
  std::vector<run::ExportFormat> exports{};

  /// Whether a run may do one part of the work, which --merge joins: run.worker_id,
  /// run.total_workers.
  bool has_parts = false;
};

/// All jobs, in the order in which --help lists them.
std::span<const JobSpec> jobs();

/// The job that the configuration chooses.
const JobSpec& job_of(const Config& config);

/// Parses the keys of that job. The configuration must outlive the job. Local.
std::unique_ptr<Job> read_job(const Config& config);

/// The same on every rank. Ranks: collective. Errors: the same on all ranks.
std::unique_ptr<Job> read_job(const cluster::Group& world, const Config& config);

/// Reads and runs the job of the run's configuration. Ranks: collective over the world.
run::JobOutcome run_job(run::RunContext& run);

/// Adds the keys of all jobs, each once.
void add_job_keys(KeyTable& table);

/// The notes of the configuration, and one for each changed key that this job does not read.
std::vector<std::string> notes_for_job(const Config& config);

}  // namespace mgpu::jobs
