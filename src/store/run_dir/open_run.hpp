#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::store {

/// A run directory, with the lock that this process holds on it.
struct OpenedRun {
  std::filesystem::path path;
  RunLock lock;
};

/// Makes the run directory of a request, or opens the unfinished one that the request continues.
/// Adds a note to `notes` for each run whose run.json cannot be read.
///
/// Ranks:  only rank 0 calls this.
/// Errors: those of the constructor of RunDirectory
OpenedRun open_or_make(const RunRequest& request, std::vector<std::string>& notes);

/// Makes a folder and its parents. Errors: Failure E601.
void make_folder(const std::filesystem::path& folder);

/// Returns `identity` with ", KEY=VALUE" in place of ", KEY=auto", where KEY is `key` and VALUE is
/// `value`. Returns `identity` unchanged if it does not contain ", KEY=auto".
std::string with_resolved_key(std::string identity, const std::string& key,
                              const std::string& value);

}  // namespace mgpu::store
