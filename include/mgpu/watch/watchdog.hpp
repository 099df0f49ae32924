#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::watch {

/// Whether a debugger holds this process: then nobody should measure its silence.
bool is_debugged();

/// A thread in each rank that looks five times a second after all ranks of its node: names one that
/// died at once, and one without a sign of progress (activity.hpp) at its limit; then writes the
/// crash file of each rank with its stack, hang_report.txt, one message from the lowest living
/// rank, and ends the processes with 76. The ranks of a node see each other in shared memory, the
/// nodes through a file each in `directory`; the thread calls no MPI.
///
/// A rank that waits in a collective for one that gets on does not hang, however long it takes.
///
/// Ranks:  made collectively over the topology's world, before a second thread communicates; the
///         destructor is local, and says that this rank has come to its end in order.
/// Errors: Failure E601 on all ranks without shared memory.
class Watchdog {
public:
  struct Options {
    double limit_s = 300.0;
    double slow_limit_s = 1800.0;
    std::vector<std::string> slow_phases{};  // those of the phase clock that have the second limit
    fs::path directory;                      // of the run; crash files lie in crash/
  };

  /// `crash` has to outlive it.
  Watchdog(const cluster::Topology& topology, CrashFile& crash, Options options);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

private:
  class Watcher;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace mgpu::watch
