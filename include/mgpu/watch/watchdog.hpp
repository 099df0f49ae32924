#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::watch {

/// Returns whether a debugger is attached to this process. A process that is debugged may make no
/// progress for any time without being hung.
bool is_debugged();

/// Runs a thread in each rank, which checks all ranks of the node five times a second. The thread
/// reports a dead rank at once, and a rank without progress (mark_progress()) after limit_s. In the
/// phases Options::slow_phases, slow_limit_s applies while the rank is outside of communication
/// calls.
///
/// After a hang or death, each rank writes its crash file with its stack and exits with code 76. On
/// the node that finds the error first, the living rank with the lowest number also prints one
/// message and writes hang_report.txt. The ranks of a node see each other in shared memory. If
/// there are several nodes, each node writes one file in folder watch/ of the run directory, and
/// the other nodes read this file. The thread never calls MPI.
///
/// A rank that waits in a collective for a rank that makes progress does not count as hung.
///
/// Ranks:  the constructor is collective over the topology's world, and must run before a second
///         thread communicates. The destructor is local, and records that this rank has ended
///         normally.
/// Errors: Failure E601 on all ranks if there is no shared memory.
class Watchdog {
public:
  struct Options {
    double limit_s = 300.0;
    double slow_limit_s = 1800.0;
    std::vector<std::string> slow_phases{};  // phases (PhaseClock) with limit slow_limit_s
    fs::path directory;  // the run directory; crash files are in its folder crash/
  };

  /// Requires that `crash` outlives this object.
  Watchdog(const cluster::Topology& topology, CrashFile& crash, Options options);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace mgpu::watch
