#pragma once

#include <filesystem>
#include <string>

#include <mgpu/base/file_io.hpp>

namespace mgpu::store {

/// Keeps a run directory for this process: an advisory lock on LOCK, and lease.json, which says
/// who has it. The kernel drops the lock when the process dies, however it dies.
///
/// Where the file system has no locks, the lease decides: it is stale when its process is gone
/// from this host, or this host has been started anew.
///
/// Source: fcntl(2), open file description locks.
class RunLock {
public:
  /// Waits up to `wait_s` for a holder that is just dying.
  ///
  /// Errors: Failure E607 (exit 81) naming the holder; E601, E602.
  explicit RunLock(const std::filesystem::path& run_directory, double wait_s = 1.5);
  ~RunLock();
  RunLock(RunLock&&) noexcept = default;
  RunLock& operator=(RunLock&&) noexcept = default;

  /// Whether the lease is still ours; another process may have taken over a lock that the
  /// file system lost.
  bool is_held() const;

private:
  std::filesystem::path folder_;
  std::string lease_;
  FdHandle fd_;
};

}  // namespace mgpu::store
