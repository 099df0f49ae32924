#pragma once

#include <chrono>

#include <mgpu/base/crash_file.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/topology.hpp>

namespace mgpu::app {

/// What a rank knows of its own attempt when it stops waiting for another.
struct Waiting {
  const CrashFile& crash;  // already written
  std::chrono::system_clock::time_point started;
  double timeout_s = 0.0;
};

/// Adds a line to the report of a timeout for each rank that does not wait itself. The waiting
/// ranks write their crash files at about the same time, so a rank without one is missing.
///
/// Returns: at once on the lowest of the waiting ranks, later on the others, so that one prints.
/// Ranks:   local, on each rank that waits.
ErrorReport name_absent_ranks(ErrorReport report, const cluster::Topology& topology,
                              const Waiting& waiting);

}  // namespace mgpu::app
