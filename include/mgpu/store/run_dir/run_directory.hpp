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

/// What opening a run directory needs to know. Only rank 0's is read.
struct RunRequest {
  std::filesystem::path output = "outputs";  // run.output
  std::string name = "run";                  // run.name
  std::string resume = "auto";               // run.resume: auto, never, or a run directory
  std::string job;                           // "train"
  std::string identity;                      // Config::identity()
  std::map<std::string, std::string> keys;   // what the identity covers, for messages
  std::vector<std::string> command;          // argv
  bool reopens = false;                      // a finished run goes on as well
  std::uint64_t needed_bytes = 0;            // free space without which work does not begin
};

/// outputs/<name>/<stamp>/: made or found again, locked, with an attempt number of its own.
///
/// `auto` continues the newest unfinished run of this name with the same identity, and starts a
/// new one where there is none. Files: run.json (what it is), attempts/NNNN.json (who worked
/// when), LOCK and lease.json, parts/, tb/; `latest` beside it points to it, and
/// <name>_<stamp> in runs_folder() to its tb/.
///
/// Ranks: only rank 0 touches the disk and holds the lock; all know path and attempt.
class RunDirectory {
public:
  /// Ranks:  collective.
  /// Errors: Failure on all ranks: E601, E602 (also too little space), E607 (exit 81, another
  ///         process works there), E608 (exit 73, it belongs to another config, with the keys;
  ///         is finished; or has an older format), E609 (exit 66, not a run directory).
  RunDirectory(const cluster::Group& group, const RunRequest& request);

  const std::filesystem::path& path() const { return path_; }
  std::uint32_t attempt() const { return attempt_; }  // from 1
  bool is_resumed() const { return attempt_ > 1; }

  /// Things to print that stopped nothing: a link that could not be made, a damaged run.json.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Rank 0: throws unless this attempt is still the one that may publish. For
  /// SealRequest::check_current.
  ///
  /// Errors: Failure E607.
  void check_current() const;

  /// Records how this attempt ended. With `done` or `incomplete` the run is finished and is not
  /// resumed any more.
  ///
  /// Ranks:  collective.
  /// Errors: Failure E602.
  void finish(const cluster::Group& group, ExitCode exit);

private:
  std::filesystem::path path_;
  std::uint32_t attempt_ = 0;
  std::vector<std::string> notes_;
  std::optional<RunLock> lock_;  // rank 0
};

/// Where the runs of an output folder are linked to for TensorBoard: `runs` beside a folder that is
/// called `outputs`, as the guides have it, else inside the folder, where nothing else is touched.
std::filesystem::path runs_folder(const std::filesystem::path& output);

/// Whether the run came to its end, so that nobody resumes it. Local.
///
/// Errors: Failure E609 (exit 66, not a run directory); E604, E605 when its run.json cannot be
///         understood.
bool is_finished_run(const std::filesystem::path& run_directory);

/// The format of journal and results that this program writes. It also reads finished runs of 1.
inline constexpr int kNewestRunFormat = 2;

/// The format of a run's journal and results, from 1 to kNewestRunFormat. Local.
/// Errors: as is_finished_run().
int format_of_run(const std::filesystem::path& run_directory);

/// Errors: Failure E602 with bytes needed and free when the folder's file system has less; none
///         where no folder can be made, which the attempt says better.
void require_free_space(const std::filesystem::path& folder, std::uint64_t bytes);

}  // namespace mgpu::store
