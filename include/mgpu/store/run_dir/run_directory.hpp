#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/store/run_dir/run_lock.hpp>

namespace mgpu::store {

/// The request to open a run directory. Only the request of rank 0 is read.
struct RunRequest {
  std::filesystem::path output = "outputs";  // run.output
  std::string name = "run";                  // run.name
  std::string resume = "auto";               // run.resume: auto, never, or a run directory
  std::string job;                           // name of the job: "train"
  std::string identity;                      // of the configuration, from run::run_identity()
  std::map<std::string, std::string> keys;   // keys that identify the run, with their values
  std::vector<std::string> command;          // argv

  /// Keys whose value `auto` becomes a number during the run, see RunDirectory::resolve(). The
  /// identity contains ", KEY=auto" for each of these keys. RunDirectory also continues a run whose
  /// identity contains a number in place of `auto`.
  std::vector<std::string> resolved_later{};
  bool reopens = false;            // true: a finished run is continued, too
  std::uint64_t needed_bytes = 0;  // free space that the run needs to begin
};

/// Returns the identity of a run that depends on the bytes of input files, too. `mark` is a
/// checksum of these files. A request that names a run directory continues a run with such an
/// identity without giving the mark.
std::string with_input_files(const std::string& identity, const std::string& mark);

/// A run's directory outputs/<name>/<stamp>/, new or continued. It is locked, and has a new attempt
/// number.
///
/// With `resume` = auto, the constructor continues the newest unfinished run of the same name and
/// identity, or starts a new one. Files: run.json (job and identity), attempts/NNNN.json (one per
/// attempt), LOCK and lease.json, parts/, tb/. Link <name>_<stamp> in runs_folder() points to tb/
/// in the directory.
///
/// Ranks:  only rank 0 touches the disk and holds the lock; all ranks know path and attempt.
class RunDirectory {
public:
  /// Opens the directory of an earlier attempt, or makes a new one.
  /// Ranks:  collective over `group`.
  /// Errors: Failure on all ranks:
  ///         - E601 if a file cannot be created
  ///         - E602 if a write fails, or the disk has too little space
  ///         - E607 (exit 81) if another process uses the directory
  ///         - E608 (exit 73) if the run has an older format
  ///         - E608 (exit 73), with the keys that differ, if the run has another configuration
  ///         - E609 (exit 66) if `resume` names a folder that is not a run directory
  ///         - E603, E604 or E605 if `resume` names a run whose run.json cannot be read
  ///         - E604 (exit 80) if `resume` names a finished run with a damaged HDF5 file, and
  ///           `reopens` is false
  ///         - a Failure with the exit code of the run if `resume` names a finished run without
  ///           damage, and `reopens` is false, because there is nothing to resume
  RunDirectory(const cluster::Group& group, const RunRequest& request);

  const std::filesystem::path& path() const { return path_; }
  std::uint32_t attempt() const { return attempt_; }  // from 1
  bool is_resumed() const { return attempt_ > 1; }

  /// Points the link `latest` in the parent folder to this run. Call it as soon as the run has a
  /// checkpoint or a result. Does nothing on ranks other than 0, or if the run is not in folder
  /// <output>/<name> of the constructor's request.
  void point_latest();

  /// Removes the directory, its link in runs_folder(), and parent folders that become empty. Meant
  /// for a run that failed before its first step or chunk. Does nothing on ranks other than 0, for
  /// a resumed run, and if the journal already holds a chunk.
  void discard() noexcept;

  /// Returns warnings to print, such as a link that could not be made, or a run that is not resumed
  /// because its run.json is damaged.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Writes `inputs` to run.json: the checksums of the inputs that the run reads, by the key that
  /// names the input. These checksums replace those of an earlier attempt.
  ///
  /// Ranks:  collective over `group`.
  /// Errors: the same Failure on all ranks: E601 (cannot be created), E602 (write failed), or an
  ///         error of reading run.json.
  void record_inputs(const cluster::Group& group, const std::map<std::string, std::string>& inputs);

  /// Writes `value` to run.json as the value of key `key` in this run, in place of `auto`. If the
  /// run's identity contains the key, also puts `value` into the identity.
  ///
  /// Ranks:  collective over `group`.
  /// Errors: those of record_inputs().
  void resolve(const cluster::Group& group, const std::string& key, const std::string& value);

  /// Returns the value of `key` in run.json, which resolve() of an earlier attempt may have
  /// written; "" if the value is `auto` or missing.
  ///
  /// Ranks:  collective over `group`.
  /// Errors: the same Failure on all ranks: those of reading run.json.
  std::string resolved(const cluster::Group& group, const std::string& key) const;

  /// Throws if another process has taken over the run, because this attempt must not publish
  /// results in that case. Call this function on rank 0 only. On other ranks it always throws,
  /// because they hold no lock. Meant for SealRequest::check_current.
  ///
  /// Errors: Failure E607.
  void check_current() const;

  /// Records how this attempt ended. If `exit` is `done` or `incomplete`, also marks the run as
  /// finished. The exit code `incomplete` means that too many rows failed, or a stage failed. Only
  /// a request with `reopens` resumes a finished run.
  ///
  /// Ranks:  collective over `group`.
  /// Errors: the same Failure on all ranks: E601 (cannot be created), E602 (write failed), or an
  ///         error of reading the run's records.
  void finish(const cluster::Group& group, ExitCode exit);

private:
  std::filesystem::path path_;
  std::uint32_t attempt_ = 0;
  std::vector<std::string> notes_;
  std::optional<RunLock> lock_;    // on rank 0 only
  std::filesystem::path tb_link_;  // on rank 0, link in runs_folder() to tb/; "": no link
};

/// Returns the folder with TensorBoard links to all runs of an output folder. If the output folder
/// is called `outputs`, this is folder `runs` next to it, otherwise folder `runs` inside it.
std::filesystem::path runs_folder(const std::filesystem::path& output);

/// Returns whether the run is finished.
///
/// Ranks:  local.
/// Errors: Failure E609 (exit 66, not a run directory); those of read_file() when its run.json
///         cannot be read; E604 (exit 80) when it cannot be parsed; E605 (exit 65) when a newer
///         version wrote it.
bool is_finished_run(const std::filesystem::path& run_directory);

/// Returns the identity of the configuration with which the run was begun, with the values that
/// RunDirectory::resolve() put in place of `auto`.
/// Ranks:  local.
/// Errors: those of is_finished_run().
std::string identity_of_run(const std::filesystem::path& run_directory);

/// Returns the keys that identify the run, with the values with which the run was begun. If
/// RunDirectory::resolve() replaced a value `auto`, returns the new value.
/// Ranks:  local.
/// Errors: those of is_finished_run().
std::map<std::string, std::string> keys_of_run(const std::filesystem::path& run_directory);

/// Returns the checksums of the run's inputs, by key, as RunDirectory::record_inputs() wrote them;
/// empty if it wrote none.
/// Ranks:  local.
/// Errors: those of is_finished_run().
std::map<std::string, std::string> inputs_of_run(const std::filesystem::path& run_directory);

/// The format of journal and results that this program writes. The program can also read finished
/// runs of format 1.
inline constexpr int kNewestRunFormat = 2;

/// Returns the format of a run's journal and results, from 1 to kNewestRunFormat.
/// Ranks:  local.
/// Errors: those of is_finished_run().
int format_of_run(const std::filesystem::path& run_directory);

/// Checks that the file system of `folder` has `bytes` bytes of free space. Returns without an
/// error if the folder cannot be created, because creating it later fails with a better message.
/// Errors: Failure E602, with the needed and the free space, when the space is too small.
void require_free_space(const std::filesystem::path& folder, std::uint64_t bytes);

}  // namespace mgpu::store
