#pragma once

#include <chrono>
#include <filesystem>

namespace mgpu::watch {

/// Removes the files of shared memory that killed runs of this user left in `folder`: those of Open
/// MPI (vader_segment.*) and of the watchdog (mgpu_watch.*). A file stays if it was changed less
/// than `age` ago, or if a process has mapped it. Files that cannot be removed stay, too. Returns
/// the number of removed files.
/// Ranks:  local.
int remove_leftover_memory(const std::filesystem::path& folder = "/dev/shm",
                           std::chrono::seconds age = std::chrono::minutes(10));

}  // namespace mgpu::watch
