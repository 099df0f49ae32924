#pragma once

#include <chrono>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::app {

/// Facts for name_absent_ranks() about this rank, on which a collective has timed out.
struct Waiting {
  const CrashFile& crash;                         // crash file of this rank, already written
  std::chrono::system_clock::time_point started;  // start of this attempt; older crash files do not
                                                  // count
  double timeout_s = 0.0;                         // time limit of the collective
};

/// Adds a line to the report of a timeout for each absent rank: a rank that did not join the
/// collective. Ranks that wait in the collective all time out at about the same time, and then
/// write their crash files. So a rank without a crash file is absent.
///
/// The call waits for the crash files of other ranks. It returns first on the lowest waiting rank,
/// so that this rank prints the report and ends the run before the others print.
/// Ranks:  local, on each rank that waits.
ErrorReport name_absent_ranks(ErrorReport report, const cluster::Topology& topology,
                              const Waiting& waiting);

}  // namespace mgpu::app
