#pragma once

#include <filesystem>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu::store {

/// Reserves a run directory for this process: an advisory lock on LOCK, and lease.json, which names
/// the holder. The kernel drops the lock when the process dies for any reason.
///
/// On a file system without locks the lease decides. It is stale when its process no longer runs on
/// this host, or this host was rebooted.
///
/// Source: fcntl(2), open file description locks.
class RunLock {
public:
  /// Takes the lock. Waits up to `wait_s` seconds, because the process that has it may be about to
  /// end.
  ///
  /// Errors: Failure E607 (exit 81) naming the holder; E601, E602.
  explicit RunLock(const std::filesystem::path& run_directory, double wait_s = 1.5);
  ~RunLock();
  RunLock(RunLock&&) noexcept = default;
  RunLock& operator=(RunLock&&) noexcept = default;

  /// Returns whether this process still holds the lease. Another process may have taken over a lock
  /// that the file system lost.
  bool is_held() const;

private:
  std::filesystem::path folder_;
  std::string lease_;
  FdHandle fd_;
};

}  // namespace mgpu::store
