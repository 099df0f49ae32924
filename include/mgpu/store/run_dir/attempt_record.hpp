#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu::store {

/// The content of attempts/NNNN.json: the host and ranks of one attempt, its times, and how it
/// ended. Each start of the program that begins or continues a run is an attempt.
struct AttemptRecord {
  std::uint32_t attempt = 0;         // number of the attempt, from 1
  std::string host;                  // host of rank 0
  int pid = 0;                       // process id of rank 0
  int ranks = 0;                     // number of ranks
  std::string job_id;                // id of the Slurm job; "": not in a Slurm job
  std::string begun;                 // time of the start, UTC
  std::string ended{};               // time of the end, UTC; "": it still runs, or was killed
  std::optional<ExitCode> exit{};    // empty as long as `ended` is ""
  std::vector<std::string> command;  // argv

  /// Writes attempts/NNNN.json; secrets in the command are masked. Errors: Failure E601 (cannot be
  /// created), E602 (write failed).
  void write(const std::filesystem::path& run_directory) const;

  /// Reads attempts/NNNN.json. Errors: Failure E603 when the file cannot be read; E604 (exit 80)
  /// when it cannot be parsed.
  static AttemptRecord read(const std::filesystem::path& run_directory, std::uint32_t attempt);
};

/// Returns the records of all attempts of a run, by ascending number. If a record is damaged or
/// cannot be opened, only its number is set.
///
/// Ranks:  local.
/// Errors: Failure E603 (exit 74) when the disk fails.
std::vector<AttemptRecord> attempts_of(const std::filesystem::path& run_directory);

/// Returns the highest attempt number in the names of the files attempts/NNNN.json and of the
/// ledgers; 0 before the first attempt. Any rank may call it alone.
std::uint32_t last_attempt(const std::filesystem::path& run_directory);

/// Returns the path of an attempt's record in the run directory, such as
/// outputs/run/STAMP/attempts/0007.json.
std::filesystem::path attempt_path(const std::filesystem::path& run_directory,
                                   std::uint32_t attempt);

}  // namespace mgpu::store
