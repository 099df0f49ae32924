#pragma once

#include <filesystem>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu::store {

/// Reserves a run directory for this process by an advisory lock on file LOCK. File lease.json
/// names the process that holds the lock. The kernel drops the lock when the process dies for any
/// reason.
///
/// On a file system without locks, lease.json decides who holds the directory. A lease of this host
/// is void when the process that it names no longer runs, or when the host was rebooted. A lease of
/// another host is never void.
///
/// Source: fcntl(2), open file description locks.
class RunLock {
public:
  /// Takes the lock. If another process has it, waits up to `wait_s` seconds, because that process
  /// may be about to end.
  ///
  /// Errors: Failure E607 (exit 81) naming the process that holds the lock; E601 (the lock file
  ///         cannot be created); E602 (locking or writing failed).
  explicit RunLock(const std::filesystem::path& run_directory, double wait_s = 1.5);
  ~RunLock();
  RunLock(RunLock&&) noexcept = default;
  RunLock& operator=(RunLock&&) noexcept = default;

  /// Returns whether lease.json still names this process. Returns false if the file system lost the
  /// lock and another process has taken the directory.
  bool is_held() const;

private:
  std::filesystem::path folder_;
  std::string lease_;
  FdHandle fd_;
};

}  // namespace mgpu::store
